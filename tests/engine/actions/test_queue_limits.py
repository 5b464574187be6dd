"""Guarantees, borrowing and lending of queues, under any policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decisions import decision, on, rows, state_with
from example_count import examples
from motet.domain.actions import Action, Migrate, Preempt, Start
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision, Reasons
from motet.domain.errors import BadInput
from motet.domain.events import (
    Event,
    Finished,
    QueueLimited,
    Resized,
    Started,
    Stopped,
    Submitted,
    Tick,
)
from motet.domain.queues.queue_limits import QueueLimits, Queues, check_guarantees
from motet.domain.units import FULL_SPEED, NEVER_US
from motet.domain.wait import FOR_GPUS, Wait
from motet.engine.actions.preemption_limits import PreemptionLimits, Protection
from motet.engine.actions.queue_limits import within_queue_limits
from motet.engine.actions.staying_jobs import StayingJobs
from motet.engine.journal.decision_log import DecisionLog
from motet.engine.measurements.late_fitters import late_fitted_measurements
from motet.engine.policy_loading.catalogue import find_policy, make_policy
from motet.engine.state.cluster_state import ClusterState
from motet.engine.step import Engine
from motet.insight.log_events import story_event
from motet.insight.waits import wait_sentence
from motet.placement.planners import CountPlanner
from soak_cases import others_in_soak

NO_PROTECTION = PreemptionLimits()
MACHINES, GPUS = [4, 4], 8
NOBODY = np.zeros(0, dtype=np.int64)
NO_DECISION = Decision(NOBODY, Reasons(NOBODY, NOBODY, NOBODY))
POLICIES: dict[str, dict[str, str]] = {
    "fifo": {},
    "best-effort": {},
    "sf": {},
    "tiresias-las": {"thresholds": "0.00001,0.00004"},
    "tiresias-las in quanta": {"thresholds": "0.00001", "quantum_s": "0.000005"},
    "drf": {},
    "fair": {},
    "yarn-cs": {},
    "tetris": {"short_jobs": "0"},
    "gandiva": {"packing": "false", "quantum_s": "1"},
    "gandiva that packs": {"quantum_s": "0.000004"},
    "slaq": {},
}
RESIZING = ("drf", "fair", "slaq")


class LimitedCluster:
    """An engine whose actions are executed at once."""

    def __init__(
        self,
        policy: str,
        limits: Sequence[QueueLimits],
        protection: PreemptionLimits = NO_PROTECTION,
    ) -> None:
        chosen = make_policy(*find_policy(policy.split()[0]), POLICIES[policy])
        names = tuple("abcd"[: len(limits)])
        queues = Queues(names, tuple(limits))
        state = ClusterState(ClusterSpec.of(MACHINES), dict(chosen.memory_columns), {}, queues)
        self.policy = policy
        self.log, self.decision = DecisionLog(), NO_DECISION
        self.engine = Engine(
            chosen,
            CountPlanner(),
            state,
            self.log,
            measurements=late_fitted_measurements(),
            limits=protection,
        )

    def step(self, now_us: int, *events: Event) -> list[Action]:
        actions, changes = self.engine.step(now_us, events), [*self.engine.changes]
        self.decision = self.engine.decision or self.decision
        while actions:
            actions = self.engine.step(now_us, [done(each, now_us) for each in actions])
        return changes

    @property
    def held(self) -> dict[int, int]:
        jobs = self.engine.state.jobs
        return dict(zip(jobs.number.tolist(), jobs.held_gpus.tolist(), strict=True))

    def held_by_queue(self) -> list[int]:
        jobs = self.engine.state.jobs
        queues = range(len(self.engine.state.queues.names))
        return [int(jobs.held_gpus[jobs.queue == queue].sum()) for queue in queues]

    def waits(self) -> dict[int, str]:
        """The sentence of the last wait of every job that waits."""
        codes = dict(
            zip(
                self.engine.state.jobs.number.tolist(),
                self.engine.state.table.column("wait_code").tolist(),
                strict=True,
            )
        )
        return {
            entry.job: wait_sentence(story_event(entry, str, ["m0", "m1"]))
            for entry in self.log
            if codes.get(entry.job) and Wait(codes[entry.job]).key == entry.event
        }


def done(action: Action, now_us: int) -> Event:
    if isinstance(action, Preempt):
        return Stopped(action.job)
    kind = Resized if isinstance(action, Migrate) else Started
    return kind(action.job, now_us, FULL_SPEED, FULL_SPEED)


def job(number: int, gpus: int, queue: int = 0, now_us: int = 0, least: int = 0) -> Submitted:
    columns = {"gpus": gpus, "queue": queue, "submit_us": now_us, "model": -1}
    if least:
        columns |= {"workers": gpus, "min_workers": least, "max_workers": gpus}
    return Submitted(number, columns)


# -- one rule at a time ----------------------------------------------------------------------------


def test_a_queue_holds_its_guarantee_and_what_it_may_borrow() -> None:
    cluster = LimitedCluster("fifo", [QueueLimits(2, borrow=2), QueueLimits()])
    cluster.step(0, *[job(number, 2) for number in range(4)], job(4, 2, queue=1))
    assert cluster.held == {0: 2, 1: 2, 2: 0, 3: 0, 4: 2}
    assert cluster.waits() == {
        2: "queue a may hold 4 GPUs and holds 4: job 0 (2 GPUs) and job 1 (2 GPUs); needs 2 GPUs "
        "(place 1 in line)",
        3: "may not overtake job 2, which needs 2 GPUs; needs 2 GPUs itself, 2 were free (place 2 "
        "in line)",
    }


def test_a_guarantee_comes_back_from_the_last_of_those_who_borrow() -> None:
    cluster = LimitedCluster("fifo", [QueueLimits(4), QueueLimits(4)])
    cluster.step(0, *[job(number, 2) for number in range(4)])
    changes = cluster.step(1, job(4, 3, queue=1, now_us=1))
    assert {each.job for each in changes if isinstance(each, Preempt)} == {2, 3}
    assert cluster.held == {0: 2, 1: 2, 2: 0, 3: 0, 4: 3}
    assert cluster.waits()[2] == (
        "queue a has a guarantee of 4 GPUs and holds 4, and the rest is guaranteed to other queues "
        "or in use; needs 2 GPUs, 1 was free (place 1 in line); running: job 0 (2 GPUs), job 1 (2 "
        "GPUs) and job 4 (3 GPUs)"
    )
    cluster.step(2, Finished(4))
    assert cluster.held == {0: 2, 1: 2, 2: 2, 3: 2}


def test_what_a_queue_does_not_lend_stays_free_for_it() -> None:
    cluster = LimitedCluster("best-effort", [QueueLimits(), QueueLimits(4, lend=1)])
    cluster.step(0, *[job(number, 1) for number in range(8)])
    assert cluster.held_by_queue() == [5, 0]
    cluster.step(1, job(8, 3, queue=1, now_us=1))
    assert cluster.held_by_queue() == [5, 3]
    cluster.step(2, job(9, 1, queue=1, now_us=2))
    assert cluster.held_by_queue() == [4, 4]


def test_jobs_that_no_longer_fit_behind_a_head_outside_its_guarantee_wait_for_the_head() -> None:
    """The policy gives jobs 1 and 2 the slots kept for queue a, and finds none for the rest."""
    cluster = LimitedCluster("fifo", [QueueLimits(4, lend=0), QueueLimits()])
    cluster.step(0, *[job(number, 2 if number else 4, queue=1) for number in range(5)])
    assert cluster.held == {0: 4, 1: 0, 2: 0, 3: 0, 4: 0}
    waits = cluster.waits()
    assert waits[1].startswith("queue b has a guarantee of 0 GPUs and holds 4")
    assert [waits[number] for number in (2, 3, 4)] == [
        "may not overtake job 1, which needs 2 GPUs; needs 2 GPUs itself, 4 were free "
        f"(place {place} in line)"
        for place in (2, 3, 4)
    ]


def test_a_job_waits_for_a_guarantee_also_where_the_policy_gave_the_slots_to_others() -> None:
    cluster = LimitedCluster("best-effort", [QueueLimits(4, lend=0), QueueLimits()])
    cluster.step(0, *[job(number, 2 if number else 4, queue=1) for number in range(5)])
    waits = cluster.waits()
    assert [waits[number] for number in (1, 2, 3, 4)] == [
        "queue b has a guarantee of 0 GPUs and holds 4, and the rest is guaranteed to other queues "
        f"or in use; needs 2 GPUs, 4 were free (place {place} in line); running: job 0 (4 GPUs)"
        for place in (1, 2, 3, 4)
    ]


def test_gpus_that_a_job_behind_was_admitted_to_are_not_free_at_the_turn_of_one_before() -> None:
    """Job 1 is on hold, job 3 fits beside it and starts; job 2 needs all eight."""
    cluster = LimitedCluster("best-effort", [QueueLimits(is_held=True), QueueLimits()])
    cluster.step(0, job(1, 2), job(2, 8, 1), job(3, 6, 1))
    assert cluster.held == {1: 0, 2: 0, 3: 6}
    assert cluster.waits()[2].startswith("needs 8 GPUs, 6 were free at its turn")


def test_a_small_job_does_not_take_the_place_of_a_larger_one_before_it() -> None:
    cluster = LimitedCluster("fifo", [QueueLimits(1, borrow=1), QueueLimits()])
    cluster.step(0, job(0, 2))
    cluster.step(1, job(1, 1, now_us=1))
    assert cluster.held == {0: 2, 1: 0}
    assert Wait.QUEUE_LIMIT in cluster.decision.reasons.code


def test_the_head_of_a_full_queue_delays_no_other_queue() -> None:
    cluster = LimitedCluster("fifo", [QueueLimits(2, borrow=0), QueueLimits()])
    cluster.step(0, job(0, 2), job(1, 2), job(2, 6, queue=1))
    assert cluster.held == {0: 2, 1: 0, 2: 6}
    cluster.step(1, job(3, 1, queue=1, now_us=1), Finished(2))
    assert cluster.held == {0: 2, 1: 0, 3: 1}


def test_a_queue_on_hold_starts_nothing_and_lets_its_jobs_run() -> None:
    cluster = LimitedCluster("fifo", [QueueLimits(), QueueLimits()])
    cluster.step(0, job(0, 2))
    cluster.step(1, QueueLimited(0, is_held=True), job(1, 1, now_us=1), job(2, 8, 1, now_us=1))
    cluster.step(2, job(3, 6, 1, now_us=2))
    assert cluster.held == {0: 2, 1: 0, 2: 0, 3: 0}
    assert cluster.waits()[1] == (
        "queue a is on hold: its jobs start after `motet queue resume`; needs 1 GPU (place 1 in "
        "line)"
    )
    cluster.step(3, QueueLimited(0))
    assert cluster.held[1] == 1


@pytest.mark.parametrize("gpus_on_hold", [1, 4])
def test_a_job_on_hold_is_no_head_and_takes_no_gpus(gpus_on_hold: int) -> None:
    cluster = LimitedCluster("fifo", [QueueLimits()] * 3)
    cluster.step(0, job(0, 6, 1))
    cluster.step(1, QueueLimited(0, is_held=True), job(1, gpus_on_hold, now_us=1))
    cluster.step(2, job(2, 4, 1, now_us=2))
    cluster.step(3, job(3, 1, 2, now_us=3))
    assert cluster.held == {0: 6, 1: 0, 2: 0, 3: 0}
    assert cluster.waits()[2].startswith("needs 4 GPUs, 2 were free at its turn")
    assert cluster.waits()[3].startswith(
        "may not overtake job 2, which needs 4 GPUs; needs 1 GPU itself, 2 were free"
    )


def test_gpus_of_a_group_on_hold_are_free_once_for_those_behind() -> None:
    """Jobs 10 and 11 wait in a queue on hold, and would share two GPUs; the policy left five of
    eight to job 12."""
    jobs = [{"gpus": 2, "queue": 0}, {"gpus": 2, "queue": 0}]
    jobs += [{"gpus": 8, "queue": 1}, {"gpus": 1, "queue": 1}]
    state = state_with(*jobs, cluster=ClusterSpec.of(MACHINES), held={13: on(0, 1)})
    state.queues = Queues(("a", "b"), (QueueLimits(is_held=True), QueueLimits()))
    snapshot = state.snapshot()
    chosen = decision([2, 2, 0, 1], order=[3, 0, 1, 2], group=rows(7, 7, -1, -1))
    code = np.array([Wait.RUNS, Wait.RUNS, Wait.TOO_FEW_GPUS, Wait.RUNS], dtype=np.int64)
    free = np.array([0, 0, 5, 0])
    chosen = replace(chosen, reasons=replace(chosen.reasons, code=code, free_gpus=free))
    found = within_queue_limits(
        chosen,
        snapshot,
        Protection(np.zeros(4, dtype=np.int64), np.zeros(4, dtype=np.int64)),
        StayingJobs.of(snapshot, NOBODY),
        may_overtake=True,
    )
    assert found.gpus.tolist() == [0, 0, 0, 1]
    assert found.reasons.free_gpus.tolist()[2] == 7


def test_a_lower_limit_preempts() -> None:
    cluster = LimitedCluster("fifo", [QueueLimits(), QueueLimits()])
    cluster.step(0, job(0, 4), job(1, 4))
    cluster.step(1, QueueLimited(0, guarantee=4, borrow=0))
    assert cluster.held == {0: 4, 1: 0}


def test_an_elastic_job_shrinks_to_what_is_left() -> None:
    cluster = LimitedCluster("fair", [QueueLimits(4), QueueLimits(4)])
    cluster.step(0, job(0, 8, least=1))
    assert cluster.held == {0: 8}
    cluster.step(1, job(1, 4, queue=1, now_us=1))
    assert cluster.held == {0: 4, 1: 4}
    cluster.step(2, Finished(1))
    assert cluster.held == {0: 8}


def test_a_guarantee_waits_for_jobs_that_may_not_be_preempted() -> None:
    protection = PreemptionLimits(min_runtime_us=10)
    cluster = LimitedCluster("fifo", [QueueLimits(), QueueLimits(4)], protection)
    cluster.step(0, job(0, 8))
    cluster.step(1, job(1, 4, queue=1, now_us=1))
    assert (cluster.held, cluster.engine.recheck_at_us) == ({0: 8, 1: 0}, 10)
    assert "no job is preempted before it has run for min_runtime" in cluster.waits()[1]
    until_us = cluster.decision.reasons.until_us
    assert until_us is not None
    assert until_us.tolist() == [NEVER_US, 10]
    cluster.step(10, Tick())
    assert cluster.held == {0: 0, 1: 4}


def test_a_guarantee_of_gpus_does_not_preempt_for_a_job_that_lacks_memory() -> None:
    policy = make_policy(*find_policy("fifo"), {})
    spec = ClusterSpec.of([2, 2], memory_bytes=[10, 10])
    queues = Queues(("a", "b"), (QueueLimits(2), QueueLimits(2)))
    engine = Engine(policy, CountPlanner(), ClusterState(spec, {}, {}, queues))
    one = {"queue": 0, "submit_us": 0, "model": -1, "memory_bytes": 10}
    engine.step(0, [Submitted(number, {**one, "gpus": 1}) for number in range(2)])
    engine.step(1, [Submitted(2, {**one, "gpus": 1})])
    engine.step(2, [Submitted(3, {**one, "gpus": 2, "queue": 1, "memory_bytes": 15})])
    assert engine.state.jobs.held_gpus.tolist() == [1, 1, 0, 0]
    assert [each for each in engine.changes if isinstance(each, Preempt)] == []


def test_a_running_job_is_not_preempted_for_a_head_that_waits_for_a_guarantee() -> None:
    cluster = LimitedCluster("tiresias-las", [QueueLimits(6, borrow=1), QueueLimits()])
    cluster.step(0, job(0, 6))
    cluster.step(1, job(1, 1, queue=1, now_us=1))
    cluster.step(60, job(2, 3, queue=1, now_us=60))
    assert cluster.held == {0: 6, 1: 1, 2: 0}
    cluster.step(70, job(3, 1, queue=1, now_us=70))
    assert cluster.held == {0: 6, 1: 1, 2: 0, 3: 1}
    cluster.step(80, Finished(0))
    assert cluster.held == {1: 1, 2: 3, 3: 1}


@pytest.mark.parametrize("policy", ["fifo", "best-effort"])
def test_a_job_overtakes_a_head_outside_its_limits_if_the_policy_lets_it(policy: str) -> None:
    cluster = LimitedCluster(policy, [QueueLimits(4), QueueLimits(0, borrow=2)])
    cluster.step(0, job(0, 1, queue=1), job(1, 2, queue=1), job(2, 1, queue=1))
    assert cluster.held == {0: 1, 1: 0, 2: int(policy == "best-effort")}


# -- any policy, any limits ------------------------------------------------------------------------

limits_of_a_queue = st.builds(
    lambda guarantee, borrow, lend, is_held: QueueLimits(
        guarantee, borrow, None if lend is None else min(lend, guarantee), is_held
    ),
    st.integers(0, 5),
    st.none() | st.integers(0, 4),
    st.none() | st.integers(0, 4),
    st.integers(0, 9).map(lambda drawn: drawn == 0),
)
arrivals = st.lists(
    st.tuples(st.integers(0, 25), st.integers(1, 6), st.integers(0, 2), st.integers(0, 3)),
    min_size=1,
    max_size=14,
)
"""When, GPUs, queue, and the least number of workers of an elastic job."""


def within(limits: Sequence[QueueLimits]) -> bool:
    return sum(each.guarantee for each in limits) <= GPUS


@pytest.mark.parametrize(
    "policy", others_in_soak(sorted(POLICIES), ["fifo", "gandiva", "tiresias-las", "yarn-cs"])
)
@settings(max_examples=examples(40))
@given(
    limits=st.lists(limits_of_a_queue, min_size=3, max_size=3).filter(within),
    rows=arrivals,
    data=st.data(),
)
def test_limits_hold_under_every_policy(
    policy: str, limits: list[QueueLimits], rows: Any, data: st.DataObject
) -> None:
    cluster = LimitedCluster(policy, limits)
    for now_us in range(30):
        jobs = cluster.engine.state.jobs
        running = jobs.number[jobs.held_gpus > 0].tolist()
        events: list[Event] = [Tick()]
        if running and data.draw(st.booleans()):
            events.append(Finished(data.draw(st.sampled_from(running))))
        if data.draw(st.integers(0, 9)) == 0:
            queue = data.draw(st.integers(0, 2))
            changed = [*limits]
            changed[queue] = data.draw(limits_of_a_queue)
            if within(changed):
                limits, each = changed, changed[queue]
                limited = (each.guarantee, each.borrow, each.lend, each.is_held)
                events.append(QueueLimited(queue, *limited))
        events += [
            job(number, gpus, queue, now_us, min(least, gpus))
            for number, (at_us, gpus, queue, least) in enumerate(rows)
            if at_us == now_us
        ]
        cluster.step(now_us, *events)
        check(cluster, limits)


def check(cluster: LimitedCluster, limits: Sequence[QueueLimits]) -> None:
    held, jobs = cluster.held_by_queue(), cluster.engine.state.jobs
    for queue, each in enumerate(limits):
        assert each.most is None or held[queue] <= each.most
    kept = sum(max(each.kept - held[queue], 0) for queue, each in enumerate(limits))
    shared = sum(int(jobs.held_gpus[row]) for row in range(len(jobs)) if jobs.partner[row] >= 0)
    taken = sum(held) - shared // 2
    assert taken == GPUS - int(cluster.engine.state.room.gpus.sum())
    assert taken + kept <= GPUS
    reasons = cluster.decision.reasons
    for queue, each in enumerate(limits):
        waiting = [
            row for row in range(len(jobs)) if jobs.queue[row] == queue and not jobs.held_gpus[row]
        ]
        first = min(waiting, key=lambda row: int(reasons.position[row]), default=None)
        if first is not None and not each.is_held and reasons.code[first] in FOR_GPUS:
            least = jobs.min_workers if cluster.policy in RESIZING else jobs.gpus
            assert held[queue] + int(least[first]) > each.guarantee


@settings(max_examples=examples(100))
@given(
    limits=st.lists(limits_of_a_queue, min_size=3, max_size=3).filter(within),
    rows=arrivals,
    data=st.data(),
)
def test_jobs_of_a_queue_start_in_the_order_of_the_policy(
    limits: list[QueueLimits], rows: Any, data: st.DataObject
) -> None:
    cluster, started = LimitedCluster("fifo", limits), set[int]()
    rows = sorted(rows)
    for now_us in range(30):
        running = [number for number, gpus in cluster.held.items() if gpus]
        events: list[Event] = [Tick()]
        if running and data.draw(st.booleans()):
            events.append(Finished(data.draw(st.sampled_from(running))))
        events += [
            job(number, gpus, queue, now_us)
            for number, (at_us, gpus, queue, _) in enumerate(rows)
            if at_us == now_us
        ]
        changes = cluster.step(now_us, *events)
        started |= {each.job for each in changes if isinstance(each, Start)}
        jobs = cluster.engine.state.jobs
        for number, queue in zip(jobs.number.tolist(), jobs.queue.tolist(), strict=True):
            if number not in started:
                assert all(rows[each][2] != queue for each in started if each > number)


@pytest.mark.parametrize(
    "policy",
    others_in_soak(
        sorted(set(POLICIES) - {"gandiva that packs"}),
        ["fifo", "gandiva", "tiresias-las", "yarn-cs"],
    ),
)
@settings(max_examples=examples(20))
@given(rows=arrivals, data=st.data())
def test_a_guarantee_of_everything_changes_no_decision(
    policy: str, rows: Any, data: st.DataObject
) -> None:
    limited = LimitedCluster(policy, [QueueLimits(GPUS)])
    free = LimitedCluster(policy, [QueueLimits()])
    for now_us in range(30):
        running = [number for number, gpus in free.held.items() if gpus]
        events: list[Event] = [Tick()]
        if running and data.draw(st.booleans()):
            events.append(Finished(data.draw(st.sampled_from(running))))
        events += [
            job(number, gpus, 0, now_us, min(least, gpus))
            for number, (at_us, gpus, _, least) in enumerate(rows)
            if at_us == now_us
        ]
        assert limited.step(now_us, *events) == free.step(now_us, *events)
    assert list(limited.log) == list(free.log)


@settings(max_examples=examples(100))
@given(
    limits=st.lists(limits_of_a_queue, min_size=3, max_size=3).filter(within),
    rows=arrivals,
    data=st.data(),
)
def test_a_job_within_its_guarantee_is_preempted_for_its_own_queue_only(
    limits: list[QueueLimits], rows: Any, data: st.DataObject
) -> None:
    cluster = LimitedCluster("tiresias-las", limits)
    for now_us in range(30):
        before, held_before = cluster.held_by_queue(), cluster.held
        events: list[Event] = [Tick()]
        running = [number for number, gpus in held_before.items() if gpus]
        if running and data.draw(st.booleans()):
            events.append(Finished(data.draw(st.sampled_from(running))))
        events += [
            job(number, gpus, queue, now_us)
            for number, (at_us, gpus, queue, _) in enumerate(rows)
            if at_us == now_us
        ]
        changes = cluster.step(now_us, *events)
        for action in changes:
            if isinstance(action, Preempt):
                queue = rows[action.job][2]
                if before[queue] <= limits[queue].guarantee:
                    own = [
                        e.job for e in changes if isinstance(e, Start) and rows[e.job][2] == queue
                    ]
                    assert own


def test_guarantees_above_the_cluster_are_an_error() -> None:
    check_guarantees({"a": QueueLimits(4), "b": QueueLimits(4)}, 8)
    with pytest.raises(BadInput, match="a 4, b 5\\) are 9 GPUs together; the cluster has 8"):
        check_guarantees({"a": QueueLimits(4), "b": QueueLimits(5)}, 8)
