"""Aggregators that say nothing, that are to leave, and replicas that lack a step."""

from __future__ import annotations

import pytest

from aggregator_world import MS, AggregatorWorld, join
from motet.aggregation.master.controller.controller import PoolController
from motet.aggregation.master.state.events import AggregatorDrained, WorkerJoined
from motet.aggregation.master.state.instructions import (
    ForgetOn,
    KillAggregator,
    MoveTo,
    PromoteOn,
    ReplicateTo,
)
from motet.aggregation.master.state.pool_state import MasterSettings
from motet.aggregation.planner.clusters import ScalingRules


def world() -> AggregatorWorld:
    return AggregatorWorld(PoolController(MasterSettings(ScalingRules(8))))


def placed(pool: AggregatorWorld) -> tuple[int, int, int]:
    """A job, its Aggregator, and the one with its replicas."""
    number = pool.place("a", 100 * MS, 10 * MS)
    job = pool.controller.state.jobs[number]
    return number, int(job.homes[0]), int(job.replicas[0])


def last_of(pool: AggregatorWorld, kind: type) -> list[object]:
    return [each for each in pool.log if isinstance(each, kind)]


# -- silence ---------------------------------------------------------------------------------------


def test_a_silent_aggregator_is_killed_and_only_then_replaced() -> None:
    pool = world()
    _, home, replica = placed(pool)
    pool.silent.add(home)
    for _ in range(6):
        pool.tick()
    assert last_of(pool, KillAggregator) == [KillAggregator(home)]
    assert last_of(pool, PromoteOn) == [], "it may go on at any moment until it is dead"
    pool.kill(home)
    pool.settle()
    assert [each.aggregator for each in last_of(pool, PromoteOn)] == [replica]  # type: ignore[attr-defined]


def test_an_aggregator_that_answers_now_and_then_is_not_killed() -> None:
    pool = world()
    _, home, _ = placed(pool)
    for second in range(20):
        pool.silent = {home} if second % 4 else set()
        pool.tick()
    assert last_of(pool, KillAggregator) == []


def test_a_pause_of_pmaster_says_nothing_about_aggregators() -> None:
    pool = world()
    _, home, _ = placed(pool)
    pool.silent.add(home)
    pool.tick(3_600)
    assert last_of(pool, KillAggregator) == []


def test_an_aggregator_with_the_only_copy_is_waited_for_longer() -> None:
    pool = world()
    job, home, replica = placed(pool)
    pool.silent.add(home)
    pool.kill(replica)
    for _ in range(20):
        pool.tick()
    assert (pool.controller.state.jobs[job].replicas < 0).all()
    assert last_of(pool, KillAggregator) == []
    for _ in range(20):
        pool.tick()
    assert last_of(pool, KillAggregator) == [KillAggregator(home)]


# -- replicas that lack a step ---------------------------------------------------------------------


def lose_replicas(pool: AggregatorWorld, job: int, home: int, replica: int) -> ForgetOn:
    """The Aggregator does not reach its replicas; what it is told then."""
    pool.lost[home] = {replica}
    pool.measure(job, 30, 100 * MS, 10 * MS)
    (forgetting,) = [each for each in pool.pending.values() if isinstance(each, ForgetOn)]
    return forgetting


def test_an_aggregator_without_an_answer_goes_on_once_its_replicas_do_not_count() -> None:
    pool = world()
    job, home, replica = placed(pool)
    told = lose_replicas(pool, job, home, replica)
    assert (told.aggregator, told.job, told.peer) == (home, job, f"endpoint {replica}")
    assert (pool.controller.state.jobs[job].replicas < 0).all()
    assert list(pool.pending.values()) == [told], "a new copy would be forgotten as well"
    pool.settle()
    assert set(pool.controller.state.jobs[job].replicas.tolist()) == {replica}, "a new copy"
    assert pool.stale == set()


def test_a_replica_that_lacks_a_step_never_serves() -> None:
    pool = world()
    job, home, replica = placed(pool)
    pool.complete(lose_replicas(pool, job, home, replica).operation)
    pool.kill(home)
    pool.settle()
    assert "Aggregators with both copies of 2 tensors" in pool.ended[job]


def test_a_broken_copy_to_where_a_replica_lacks_steps_never_serves() -> None:
    pool = world()
    job, home, replica = placed(pool)
    pool.complete(lose_replicas(pool, job, home, replica).operation)
    assert [each.target for each in pool.pending.values() if isinstance(each, ReplicateTo)] == [
        replica
    ]
    pool.kill(home)
    pool.settle()
    assert job in pool.ended


def test_a_copy_that_its_aggregator_lost_at_once_does_not_count() -> None:
    pool = world()
    pool.handle(WorkerJoined(join("a"), "00"))
    while not any(isinstance(each, ReplicateTo) for each in pool.pending.values()):
        pool.complete(min(pool.pending)) if pool.pending else pool.start(pool.starting[0])
    (copy,) = [each for each in pool.pending.values() if isinstance(each, ReplicateTo)]
    lose_replicas(pool, 0, copy.aggregator, copy.target)
    pool.complete(copy.operation)
    assert (pool.controller.state.jobs[0].replicas < 0).all()


def test_tensors_move_to_an_old_replica_only_after_it_is_up_to_date() -> None:
    pool = world()
    job, home, replica = placed(pool)
    pool.complete(lose_replicas(pool, job, home, replica).operation)
    (copy,) = [each for each in pool.pending.values() if isinstance(each, ReplicateTo)]
    pool.fail(copy.operation)
    before = len(pool.log)
    pool.handle(AggregatorDrained(home))
    pool.tick(2.0)
    pool.settle()
    kinds = [type(each) for each in pool.log[before:] if isinstance(each, MoveTo | ReplicateTo)]
    assert set(pool.homes.values()) == {replica}
    assert kinds[0] == ReplicateTo


def test_after_a_loss_during_a_copy_the_place_of_the_replica_is_known_before_a_move() -> None:
    pool = world()
    pool.handle(WorkerJoined(join("a", tensors=3, servers=2), "00"))
    pool.handle(WorkerJoined(join("b", tensors=1), "00"))
    pool.settle()
    home, replica = pool.homes[0, 2], pool.replicas[0, 2]
    pool.handle(AggregatorDrained(replica))
    assert any(isinstance(each, ReplicateTo) for each in pool.pending.values())
    pool.handle(WorkerJoined(join("c", tensors=1), "00"))
    pool.lost[home] = {replica}
    pool.measure(0, 30, 50 * MS, 30 * MS)
    pool.settle()
    known = pool.controller.state.jobs[0].replicas.tolist()
    assert known == [pool.replicas[0, tensor] for tensor in range(3)]


# -- leaving ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("leaving", ["home", "replica"])
def test_everything_on_an_aggregator_that_is_to_leave_moves_away(leaving: str) -> None:
    pool = world()
    job, home, replica = placed(pool)
    number = home if leaving == "home" else replica
    pool.handle(AggregatorDrained(number))
    pool.settle()
    assert number not in pool.aggregators
    assert number not in pool.homes.values()
    assert job not in pool.ended
    assert len(pool.aggregators) == 2


def test_all_aggregators_may_leave_at_once() -> None:
    pool = world()
    job, home, replica = placed(pool)
    for number in (home, replica):
        pool.handle(AggregatorDrained(number))
    pool.settle()
    assert {home, replica}.isdisjoint(pool.aggregators)
    assert job not in pool.ended
    assert last_of(pool, PromoteOn) == [], "nothing was lost on the way"


def test_a_job_that_is_being_measured_moves_too() -> None:
    pool = world()
    pool.handle(WorkerJoined(join("a", tensors=4, servers=2), "00"))
    pool.settle()
    pool.handle(AggregatorDrained(0))
    pool.settle()
    homes = pool.controller.state.jobs[0].homes.tolist()
    assert 0 not in homes
    assert len(set(homes)) == 2
