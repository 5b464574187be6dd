"""Stops take time, jobs crash: slots are held by one gang at a time, and all jobs end."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from fake_driver import PretendedMachines, drive
from motet.domain.cluster import ClusterSpec
from motet.domain.events import Failed, Stopped
from motet.domain.units import SECOND_US
from motet.engine.journal.decision_log import DecisionLog
from motet.engine.policy_loading.catalogue import built_in_policies
from motet.placement.planners import ConsolidatingPlanner
from motet.policies.gandiva import Gandiva
from motet.policies.tiresias import TiresiasLas

BLIND = {
    name: policy for name, policy in built_in_policies().items() if not policy.knows_durations
} | {
    "gandiva": partial(Gandiva, packing=False),
    "gandiva in short turns": partial(Gandiva, packing=False, quantum_s=4.0),
    "tiresias-las with low thresholds": partial(TiresiasLas, thresholds=(4.0, 20.0)),
}
workloads = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 30), st.integers(1, 6)), min_size=1, max_size=10
)


times_s = st.integers(0, 60)
crashes = st.lists(st.tuples(times_s, st.integers(0, 9), st.booleans()), max_size=6)


def never_more_than(cluster: ClusterSpec) -> Callable[[PretendedMachines], None]:
    def check(machines: PretendedMachines) -> None:
        held = np.zeros(cluster.size, dtype=np.int64)
        for placement in machines.held.values():
            np.add.at(held, list(placement.machines), placement.counts)
        assert (held <= cluster.gpus).all()

    return check


@pytest.mark.parametrize("policy", BLIND.values(), ids=BLIND)
@settings(max_examples=examples(60))
@given(rows=workloads, grace_s=st.integers(0, 5), trains_in_grace=st.booleans(), crashes=crashes)
def test_no_slot_is_ever_held_twice_and_all_jobs_finish(
    policy: Any, rows: Any, grace_s: int, trains_in_grace: bool, crashes: Any
) -> None:
    cluster, log = ClusterSpec.of([4, 2]), DecisionLog()
    times = [(submit * SECOND_US, duration * SECOND_US, gpus) for submit, duration, gpus in rows]
    drive(
        times,
        cluster,
        policy(),
        ConsolidatingPlanner(),
        log,
        grace_s * SECOND_US,
        never_more_than(cluster),
        [
            (second * SECOND_US, Failed(job, "out of memory") if is_final else Stopped(job))
            for second, job, is_final in crashes
        ],
        trains_in_grace=trains_in_grace,
    )
    ended = [entry.job for entry in log if entry.event in ("finish", "fail")]
    assert sorted(ended) == list(range(len(rows)))
