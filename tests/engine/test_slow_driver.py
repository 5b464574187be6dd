"""Stops take time, jobs crash: slots are held by one gang at a time, and all jobs end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from fake_driver import PretendedMachines, drive
from motet.domain.actions import Action, Preempt
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision
from motet.domain.events import Failed, Stopped
from motet.domain.snapshot import Snapshot
from motet.domain.units import SECOND_US
from motet.engine.actions.requests import Requests
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


@pytest.mark.parametrize("packing", [True, False])
@settings(max_examples=examples(200))
@given(rows=workloads, grace_s=st.integers(0, 5), crashes=crashes)
def test_no_action_could_be_issued_that_was_not_tried_again(
    packing: bool, rows: Any, grace_s: int, crashes: Any
) -> None:
    """Actions are tried again once something has changed on their machines."""
    take, cluster = Requests.take, ClusterSpec.of([4, 2])

    def checked(requests: Requests) -> list[Action]:
        every = requests.copy()
        every._touched.update(range(cluster.size))
        of_all, found = take(every), take(requests)
        assert found == of_all
        return found

    times = [(submit * SECOND_US, duration * SECOND_US, gpus) for submit, duration, gpus in rows]
    failures: Sequence[tuple[int, Stopped]] = [
        (second * SECOND_US, Stopped(job)) for second, job, _ in crashes
    ]
    policy = Gandiva(packing=packing, quantum_s=4.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Requests, "take", checked)
        drive(
            times,
            cluster,
            policy,
            ConsolidatingPlanner(),
            DecisionLog(),
            grace_s * SECOND_US,
            lambda machines: None,
            failures,
        )


class ServiceCheck(DecisionLog):
    """A log that compares the service on the policy's books with the time that processes ran."""

    def __init__(self, needs_us: Sequence[int]) -> None:
        super().__init__()
        self._needs_us, self._machines = needs_us, PretendedMachines({})
        self._service_us: dict[int, int] = {}
        self.idle_turns = 0

    def follow(self, machines: PretendedMachines) -> None:
        self._machines = machines

    def decided(
        self, now_us: int, snapshot: Snapshot, decision: Decision, actions: Sequence[Action]
    ) -> None:
        """See Journal."""
        jobs, machines = snapshot.jobs, self._machines
        executed = dict(zip(jobs.number.tolist(), jobs.executed_us.tolist(), strict=True))
        if machines.needed_us:
            for job, executed_us in executed.items():
                since_us = machines.since_us.get(job, now_us)
                done_us = self._needs_us[job] - machines.needed_us[job] + now_us - since_us
                assert executed_us == done_us
        for action in actions:
            if isinstance(action, Preempt):
                service_us = executed[action.job]
                self.idle_turns += service_us == self._service_us.get(action.job, 0)
                self._service_us[action.job] = service_us
        super().decided(now_us, snapshot, decision, actions)


TURNS = {
    "tiresias-las": partial(TiresiasLas, thresholds=(1.0,)),
    "tiresias-las that promotes": partial(TiresiasLas, thresholds=(1.0,), promote_knob=1.0),
    "tiresias-las with a quantum": partial(
        TiresiasLas, thresholds=(1.0, 3.0), promote_knob=2.0, quantum_s=1.0
    ),
    "gandiva": partial(Gandiva, packing=False, migration=False, quantum_s=1.0),
}
whole_cluster = st.lists(
    st.tuples(st.just(0), st.integers(1, 12), st.just(2)), min_size=2, max_size=4
)


@pytest.mark.parametrize("policy", TURNS.values(), ids=TURNS)
@settings(max_examples=examples(60))
@given(rows=whole_cluster, grace_s=st.integers(1, 60))
def test_jobs_take_turns_only_by_running(policy: Any, rows: Any, grace_s: int) -> None:
    """A job that waits for the end of a preempted one is not charged, and does not lose its turn.

    If it were charged, two jobs could preempt each other for ever, none of them running.
    """
    times = [(submit * SECOND_US, duration * SECOND_US, gpus) for submit, duration, gpus in rows]
    log = ServiceCheck([duration_us for _, duration_us, _ in times])
    cluster, grace_us = ClusterSpec.of([2]), grace_s * SECOND_US
    drive(times, cluster, policy(), ConsolidatingPlanner(), log, grace_us, log.follow)
    assert log.idle_turns == 0
