"""No job is preempted before it has run for a while, or too often; GPUs are never given twice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.actions import Action, Migrate, Preempt, Start
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision, Reasons
from motet.domain.events import Event, Finished, Resized, Started, Stopped, Submitted, Tick
from motet.domain.snapshot import Placement, Queues
from motet.domain.units import FULL_SPEED
from motet.domain.wait import Wait
from motet.engine.actions.preemption_limits import (
    PreemptionLimits,
    Protection,
    without_early_preemptions,
)
from motet.engine.journal.decision_log import DecisionLog
from motet.engine.policy_loading.catalogue import find_policy, make_policy
from motet.engine.state.cluster_state import ClusterState
from motet.engine.step import Engine
from motet.insight.log_events import story_event
from motet.insight.waits import wait_sentence
from motet.placement.planners import CountPlanner
from policy_snapshots import snapshot

MACHINES, MIN_RUNTIME_US = [3, 3], 10
MIN_RUNTIME = PreemptionLimits(MIN_RUNTIME_US)
POLICIES = {
    "sf": {},
    "tiresias-las": {"thresholds": "0.00001,0.00004"},
    "drf": {},
    "best-effort": {},
    "yarn-cs": {},
    "tetris": {"short_jobs": "0"},
    "gandiva": {"packing": "false", "quantum_s": "1"},
    "tiresias-las without queues": {"thresholds": ""},
}


def engine_of(policy: str, limits: PreemptionLimits = MIN_RUNTIME) -> Engine:
    chosen = make_policy(*find_policy(policy.split()[0]), POLICIES[policy])
    state = ClusterState(ClusterSpec.of(MACHINES), dict(chosen.memory_columns), {}, Queues())
    return Engine(chosen, CountPlanner(), state, limits=limits)


def step(engine: Engine, now_us: int, events: list[Event]) -> list[Action]:
    """A step, after which all actions are executed at once; what the decision changes."""
    actions, changes = engine.step(now_us, events), [*engine.changes]
    while actions:
        actions = engine.step(now_us, [done(each, now_us) for each in actions])
    return changes


def done(action: Action, now_us: int) -> Event:
    if isinstance(action, Preempt):
        return Stopped(action.job)
    kind = Resized if isinstance(action, Migrate) else Started
    return kind(action.job, now_us, FULL_SPEED, FULL_SPEED)


def submitted(job: int, gpus: int, now_us: int) -> Submitted:
    return Submitted(job, {"gpus": gpus, "queue": 0, "submit_us": now_us, "model": -1})


def preempted(actions: list[Action]) -> list[int]:
    return [action.job for action in actions if isinstance(action, Preempt)]


def reasons(engine: Engine) -> list[int]:
    assert engine.decision is not None
    codes: list[int] = engine.decision.reasons.code.tolist()
    return codes


def test_a_smaller_job_waits_until_the_larger_one_has_run_for_a_while() -> None:
    engine = engine_of("sf")
    step(engine, 0, [submitted(0, 6, 0)])
    assert step(engine, 4, [submitted(1, 2, 4)]) == []
    assert engine.recheck_at_us == MIN_RUNTIME_US
    assert reasons(engine) == [Wait.RUNS, Wait.MIN_RUNTIME]
    assert preempted(step(engine, 9, [Tick()])) == []
    assert preempted(step(engine, MIN_RUNTIME_US, [Tick()])) == [0]


def test_the_runtime_counts_from_the_report_of_the_start() -> None:
    engine = engine_of("sf")
    engine.step(0, [submitted(0, 6, 0)])
    assert preempted(step(engine, 12, [submitted(1, 2, 12)])) == []
    assert engine.recheck_at_us == 12 + MIN_RUNTIME_US
    step(engine, 15, [Started(0, 15, FULL_SPEED, FULL_SPEED)])
    assert preempted(step(engine, 22, [Tick()])) == []
    assert engine.recheck_at_us == 15 + MIN_RUNTIME_US
    assert preempted(step(engine, 25, [Tick()])) == [0]


def test_a_job_that_was_preempted_lately_is_not_preempted_again() -> None:
    engine = engine_of("sf", PreemptionLimits(0, 100))
    step(engine, 0, [submitted(0, 6, 0)])
    assert preempted(step(engine, 5, [submitted(1, 2, 5)])) == [0]
    step(engine, 6, [Finished(1)])
    assert preempted(step(engine, 7, [submitted(2, 2, 7)])) == []
    assert reasons(engine) == [Wait.RUNS, Wait.PREEMPTION_RATE]
    assert engine.recheck_at_us == 105
    assert preempted(step(engine, 105, [Tick()])) == [0]


def test_a_wait_tells_the_end_of_the_protection_not_the_next_round_of_the_policy() -> None:
    log = DecisionLog()
    given = {"thresholds": "0.00001", "quantum_s": "0.00001"}
    policy = make_policy(*find_policy("tiresias-las"), given)
    state = ClusterState(ClusterSpec.of([6]), dict(policy.memory_columns), {}, Queues())
    engine = Engine(policy, CountPlanner(), state, log, limits=PreemptionLimits(95))
    step(engine, 0, [submitted(0, 6, 0)])
    step(engine, 10, [submitted(1, 2, 10)])
    assert engine.recheck_at_us == 20
    waits = [(entry.event, entry.until_us) for entry in log if entry.job == 1]
    assert waits == [(Wait.MIN_RUNTIME.key, 95)]
    told = wait_sentence(story_event(list(log)[-1], str, ["m0"]))
    assert told.endswith("; running: job 0 (6 GPUs), which may be preempted after 0 s")


def test_what_fits_beside_a_kept_job_starts() -> None:
    """The job of 3 GPUs was to start with the smaller ones; its GPUs are still those of job 0."""
    engine = engine_of("sf")
    step(engine, 0, [submitted(0, 4, 0)])
    step(engine, 1, [submitted(1, 3, 1), submitted(2, 2, 1)])
    held = dict(zip(engine.state.jobs.number, engine.state.jobs.held_gpus, strict=True))
    assert held == {0: 4, 1: 0, 2: 2}


def test_running_jobs_of_one_gpu_count_beside_a_kept_one() -> None:
    engine = engine_of("sf")
    step(engine, 0, [submitted(0, 5, 0), submitted(1, 1, 0)])
    step(engine, 1, [submitted(2, 1, 1)])
    held = dict(zip(engine.state.jobs.number, engine.state.jobs.held_gpus, strict=True))
    assert held == {0: 5, 1: 1, 2: 0}


def test_an_elastic_job_that_is_kept_keeps_its_workers_and_servers() -> None:
    """Job 0 was to make room for job 1, for which 3 GPUs are left then."""
    held = {"held_gpus": [3, 0], "held_workers": [2, 0], "held_servers": [1, 0]}
    seen = snapshot(ClusterSpec.of([6]), 2, places={0: Placement((0,), (3,))}, **held)
    column = np.array
    reasons = Reasons(column([Wait.ORDER, Wait.RUNS]), column([6, 6]), column([1, 0]))
    decided = Decision(column([0, 4]), reasons, workers=column([0, 3]), servers=column([0, 1]))
    protection = Protection(column([Wait.MIN_RUNTIME, Wait.RUNS]), column([10, 0]))

    kept = without_early_preemptions(decided, seen, protection)

    assert kept.workers is not None
    assert kept.servers is not None
    columns = (kept.gpus, kept.workers, kept.servers, kept.reasons.code)
    assert [each.tolist() for each in columns] == [
        [3, 0],
        [2, 0],
        [1, 0],
        [Wait.RUNS, Wait.MIN_RUNTIME],
    ]


@settings(max_examples=examples(100))
@given(
    policy=st.sampled_from(sorted(POLICIES)),
    arrivals=st.lists(st.tuples(st.integers(0, 40), st.integers(1, 6)), min_size=1, max_size=12),
    data=st.data(),
)
def test_no_job_is_preempted_early_and_no_gpu_is_given_twice(
    policy: str, arrivals: list[tuple[int, int]], data: st.DataObject
) -> None:
    engine = engine_of(policy)
    for now_us in range(60):
        jobs = engine.state.jobs
        events: list[Event] = [Tick()]
        running = jobs.number[jobs.held_gpus > 0].tolist()
        if running and data.draw(st.booleans()):
            events.append(Finished(data.draw(st.sampled_from(running))))
        events += [
            submitted(job, gpus, now_us)
            for job, (at_us, gpus) in enumerate(arrivals)
            if at_us == now_us
        ]
        since = dict(zip(jobs.number.tolist(), jobs.last_start_us.tolist(), strict=True))
        for job in preempted(step(engine, now_us, events)):
            assert now_us - since[job] >= MIN_RUNTIME_US
        assert (engine.state.room.gpus >= 0).all()
        held = int(engine.state.jobs.held_gpus.sum())
        assert held + int(engine.state.room.gpus.sum()) == sum(MACHINES)


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_all_jobs_run_in_the_end(policy: str) -> None:
    draw = np.random.default_rng(1)
    engine = engine_of(policy)
    left = {job: int(draw.integers(1, 30)) for job in range(12)}
    step(engine, 0, [submitted(job, int(draw.integers(1, 7)), 0) for job in left])
    for now_us in range(100_000, 300_000_000, 100_000):
        jobs = engine.state.jobs
        for job in jobs.number[jobs.held_gpus > 0].tolist():
            left[job] -= 1
        over = [Finished(job) for job in left if left[job] <= 0 and engine.state.is_active(job)]
        step(engine, now_us, [*over, Tick()])
        if not len(engine.state.jobs):
            return
    raise AssertionError("jobs wait for ever")


@settings(max_examples=examples(100))
@given(
    steps_us=st.lists(st.integers(1, 40), min_size=10, max_size=60),
    min_runtime_us=st.integers(0, 20),
    spacing_us=st.integers(0, 60),
)
def test_two_jobs_take_turns_no_more_often_than_the_limits_permit(
    steps_us: list[int], min_runtime_us: int, spacing_us: int
) -> None:
    """Least attained service without queues: without limits they change places at every step."""
    limits = PreemptionLimits(min_runtime_us, spacing_us)
    engine = engine_of("tiresias-las without queues", limits)
    step(engine, 0, [submitted(0, 6, 0), submitted(1, 6, 0)])
    now_us, preempted_us, started_us = 0, dict[int, int](), {0: 0, 1: 0}
    for passed_us in steps_us:
        now_us += passed_us
        changes = step(engine, now_us, [Tick()])
        for job in preempted(changes):
            assert now_us - started_us[job] >= min_runtime_us
            assert now_us - preempted_us.get(job, -spacing_us) >= spacing_us
            preempted_us[job] = now_us
        started_us |= {each.job: now_us for each in changes if isinstance(each, Start)}
        held = engine.state.jobs.held_gpus.tolist()
        assert sorted(held) == [0, 6]
    if now_us >= sum(sorted(steps_us)[-2:]) + min_runtime_us + spacing_us:
        assert preempted_us  # The limits delay turns, they do not end them.
