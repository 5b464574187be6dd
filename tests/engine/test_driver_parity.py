"""The simulator and a driver that only knows the engine's ports tell the same story."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from fake_driver import drive
from motet.domain.cluster import ClusterSpec
from motet.domain.units import SECOND_US
from motet.engine.catalogue import built_in_policies
from motet.engine.decision_log import DecisionLog
from motet.placement.planners import ConsolidatingPlanner
from motet.policies.gandiva import Gandiva
from motet.sim.replay.simulation import Simulation
from motet.sim.speeds.speed_model import SameEverywhere
from motet.sim.workload.workload import Workload

CLUSTER = ClusterSpec.of([4, 2])
BLIND = {
    name: policy for name, policy in built_in_policies().items() if not policy.knows_durations
} | {"gandiva": partial(Gandiva, packing=False)}  # these machines do not slow down in company
workloads = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 30), st.integers(1, 6)), min_size=1, max_size=12
).map(sorted)


@pytest.mark.parametrize("policy", BLIND.values(), ids=BLIND)
@settings(max_examples=examples(40))
@given(rows=workloads)
def test_both_drivers_take_the_same_actions_for_the_same_reasons(policy: Any, rows: Any) -> None:
    times = [(submit * SECOND_US, duration * SECOND_US, gpus) for submit, duration, gpus in rows]
    workload = Workload.of(
        [str(number) for number in range(len(rows))],
        [row[0] for row in times],
        [row[1] for row in times],
        [row[2] for row in times],
    )
    log, other, planner = DecisionLog(), DecisionLog(), ConsolidatingPlanner()
    Simulation(workload, CLUSTER, policy(), planner, SameEverywhere(), journal=log).run()
    drive(times, CLUSTER, policy(), planner, other)
    assert list(log) == list(other)
