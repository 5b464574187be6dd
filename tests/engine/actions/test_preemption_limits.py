"""No job is preempted before it has run for a while; GPUs are never given twice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.actions import Action, Preempt
from motet.domain.cluster import ClusterSpec
from motet.domain.events import Event, Finished, Submitted, Tick
from motet.domain.snapshot import Queues
from motet.engine.policy_loading.catalogue import find_policy, make_policy
from motet.engine.state.cluster_state import ClusterState
from motet.engine.step import Engine
from motet.placement.planners import CountPlanner

MACHINES, MIN_RUNTIME_US = [3, 3], 10
POLICIES = {
    "sf": {},
    "tiresias-las": {"thresholds": "0.00001,0.00004"},
    "drf": {},
    "best-effort": {},
    "yarn-cs": {},
    "tetris": {"short_jobs": "0"},
    "gandiva": {"packing": "false", "quantum_s": "1"},
}


def engine_of(policy: str, min_runtime_us: int = MIN_RUNTIME_US) -> Engine:
    chosen = make_policy(*find_policy(policy), POLICIES[policy])
    state = ClusterState(ClusterSpec.of(MACHINES), dict(chosen.memory_columns), {}, Queues())
    return Engine(chosen, CountPlanner(), state, min_runtime_us=min_runtime_us)


def submitted(job: int, gpus: int, now_us: int) -> Submitted:
    return Submitted(job, {"gpus": gpus, "queue": 0, "submit_us": now_us, "model": -1})


def preempted(actions: list[Action]) -> list[int]:
    return [action.job for action in actions if isinstance(action, Preempt)]


def test_a_smaller_job_waits_until_the_larger_one_has_run_for_a_while() -> None:
    engine = engine_of("sf")
    engine.step(0, [submitted(0, 6, 0)])
    assert engine.step(4, [submitted(1, 2, 4)]) == []
    assert engine.recheck_at_us == MIN_RUNTIME_US
    assert preempted([*engine.step(9, [Tick()]), *engine.changes]) == []
    engine.step(MIN_RUNTIME_US, [Tick()])
    assert preempted([*engine.changes]) == [0]


def test_what_fits_beside_a_kept_job_starts() -> None:
    """The job of 3 GPUs was to start with the smaller ones; its GPUs are still those of job 0."""
    engine = engine_of("sf")
    engine.step(0, [submitted(0, 4, 0)])
    engine.step(1, [submitted(1, 3, 1), submitted(2, 2, 1)])
    held = dict(zip(engine.state.jobs.number, engine.state.jobs.held_gpus, strict=True))
    assert held == {0: 4, 1: 0, 2: 2}


def test_running_jobs_of_one_gpu_count_beside_a_kept_one() -> None:
    engine = engine_of("sf")
    engine.step(0, [submitted(0, 5, 0), submitted(1, 1, 0)])
    engine.step(1, [submitted(2, 1, 1)])
    held = dict(zip(engine.state.jobs.number, engine.state.jobs.held_gpus, strict=True))
    assert held == {0: 5, 1: 1, 2: 0}


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
        engine.step(now_us, events)
        for job in preempted([*engine.changes]):
            assert now_us - since[job] >= MIN_RUNTIME_US
        assert (engine.state.room.gpus >= 0).all()
        held = int(engine.state.jobs.held_gpus.sum())
        assert held + int(engine.state.room.gpus.sum()) == sum(MACHINES)


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_all_jobs_run_in_the_end(policy: str) -> None:
    draw = np.random.default_rng(1)
    engine = engine_of(policy)
    left = {job: int(draw.integers(1, 30)) for job in range(12)}
    engine.step(0, [submitted(job, int(draw.integers(1, 7)), 0) for job in left])
    for now_us in range(100_000, 300_000_000, 100_000):
        jobs = engine.state.jobs
        for job in jobs.number[jobs.held_gpus > 0].tolist():
            left[job] -= 1
        done = [Finished(job) for job in left if left[job] <= 0 and engine.state.is_active(job)]
        engine.step(now_us, [*done, Tick()])
        if not len(engine.state.jobs):
            return
    raise AssertionError("jobs wait for ever")
