"""Jobs that may not start yet keep their place; the GPUs that the policy gave them stay free."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Reasons
from motet.domain.events import Delayed, Finished, Resumed, Submitted, Suspended, Tick
from motet.domain.snapshot import Queues
from motet.domain.units import NEVER_US
from motet.domain.wait import Wait
from motet.engine.journal.decision_log import DecisionLog
from motet.engine.policy_loading.catalogue import find_policy, make_policy
from motet.engine.state.cluster_state import ClusterState
from motet.engine.step import Engine
from motet.placement.planners import CountPlanner


def engine_of(policy: str, gpus: int = 4) -> Engine:
    chosen = make_policy(*find_policy(policy), {})
    state = ClusterState(ClusterSpec.of([gpus]), dict(chosen.memory_columns), {}, Queues())
    return Engine(chosen, CountPlanner(), state)


def submitted(job: int, gpus: int, now_us: int = 0) -> Submitted:
    return Submitted(job, {"gpus": gpus, "queue": 0, "submit_us": now_us, "model": -1})


def test_a_delayed_job_starts_at_its_time_and_later_ones_do_not_take_its_gpus() -> None:
    engine = engine_of("fifo")
    engine.step(0, [submitted(0, 4)])
    engine.step(1, [submitted(1, 3), submitted(2, 2)])
    assert engine.step(10, [Finished(0), Delayed(1, 100)]) == []
    codes = dict(zip(engine.state.jobs.number, engine.state.table.column("wait_code"), strict=True))
    assert codes[1] == Wait.RESTART_DELAYED
    assert engine.recheck_at_us == 100
    assert [action.job for action in engine.step(100, [Tick()])] == [1]


def test_reasons_of_a_policy_in_small_integers_have_ends() -> None:
    small = np.zeros(3, np.int32)
    reasons = Reasons(small, small, small)
    assert reasons.known_until(np.array([1]), 5).tolist() == [NEVER_US, 5, NEVER_US]
    again = replace(reasons, until_us=np.array([7, 8, 9], np.int32))
    known = again.known_until(np.array([0, 2]), np.array([NEVER_US, 1 << 40]))
    assert known.tolist() == [NEVER_US, 8, 1 << 40]


def test_a_delayed_job_is_not_the_head_of_the_line() -> None:
    log, engine = DecisionLog(), engine_of("fifo")
    engine = Engine(engine.policy, CountPlanner(), engine.state, log)
    engine.step(0, [submitted(0, 2), submitted(1, 2)])
    engine.step(10, [Finished(1), submitted(2, 2, 10), Delayed(2, 100)])
    engine.step(11, [submitted(3, 3, 11), submitted(4, 1, 11)])
    behind = [entry for entry in log if entry.event == Wait.BEHIND_HEAD.key]
    assert [(entry.job, entry.others.first) for entry in behind] == [(4, ((3, 3),))]


def test_a_delay_stops_no_running_job_and_outlives_a_suspension() -> None:
    engine = engine_of("fifo")
    engine.step(0, [submitted(0, 4)])
    assert engine.step(5, [Delayed(0, 50)]) == []
    engine.step(10, [Suspended(0)])
    assert engine.step(20, [Resumed(0)]) == []
    assert engine.recheck_at_us == 50


@given(
    delays=st.lists(st.integers(0, 50), min_size=1, max_size=8),
    gpus=st.lists(st.integers(1, 4), min_size=8, max_size=8),
    policy=st.sampled_from(["fifo", "tiresias-las", "best-effort", "drf", "gandiva"]),
)
def test_nothing_starts_before_its_time_and_no_gpu_is_given_twice(
    delays: list[int], gpus: list[int], policy: str
) -> None:
    engine = engine_of(policy)
    arrivals = [submitted(job, gpus[job]) for job in range(len(delays))]
    late = [Delayed(job, delay) for job, delay in enumerate(delays)]
    engine.step(0, [*arrivals, *late])
    for now_us in range(1, 52):
        engine.step(now_us, [Tick()])
        jobs = engine.state.jobs
        early = np.array([delays[number] > now_us for number in jobs.number.tolist()])
        assert not (jobs.held_gpus[early] > 0).any()
        assert (engine.state.room.gpus >= 0).all()
    assert (engine.state.jobs.held_gpus > 0).any()


def test_between_the_rounds_of_a_policy_the_delay_stays_the_reason() -> None:
    log = DecisionLog()
    state = engine_of("tiresias-las").state
    policy = make_policy(*find_policy("tiresias-las"), {"quantum_s": "0.00001"})
    engine = Engine(policy, CountPlanner(), state, log)
    engine.step(0, [submitted(0, 4)])
    engine.step(10, [Finished(0), submitted(1, 3, 10), Delayed(1, 100)])
    for now_us in range(11, 100, 3):
        engine.step(now_us, [Tick()])
    waits = [(entry.event, entry.until_us) for entry in log if entry.job == 1]
    assert waits == [(Wait.RESTART_DELAYED.key, 100)]
    assert [action.job for action in engine.step(100, [Tick()])] == [1]
