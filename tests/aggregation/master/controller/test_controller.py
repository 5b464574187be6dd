"""Events in, instructions out: the life of jobs and of the pool."""

from __future__ import annotations

import pytest

from aggregator_world import MS, AggregatorWorld, join
from motet.aggregation.master.controller.controller import PoolController
from motet.aggregation.master.state.events import (
    AggregatorDied,
    AggregatorMeasured,
    OperationFailed,
    WorkerJoined,
    WorkerLeft,
    WorkerLost,
    WorkerSeen,
)
from motet.aggregation.master.state.instructions import (
    EndJob,
    MoveTo,
    OpenOn,
    PromoteOn,
    PublishRoutes,
    ReplicateTo,
    SetCycleOn,
    SetWorkersOn,
    StartAggregator,
    StopAggregator,
)
from motet.aggregation.master.state.pool_state import MasterSettings
from motet.aggregation.planner.clusters import ScalingRules
from motet.aggregation.wire.aggregator_control import CycleShare, JobMeasurement
from motet.aggregation.wire.pool_messages import PoolFull
from motet.domain.errors import BadInput


def world(most: int = 8, on_demand: int = 0) -> AggregatorWorld:
    rules = ScalingRules(most, on_demand=on_demand)
    return AggregatorWorld(PoolController(MasterSettings(rules)))


def test_the_first_worker_of_a_job_starts_its_aggregators_and_one_for_replicas() -> None:
    pool = world()
    assert pool.handle(WorkerJoined(join("mlp"), "00")) == [StartAggregator(0), StartAggregator(1)]


def test_routes_are_published_once_the_aggregators_know_the_job_and_its_workers() -> None:
    pool = world()
    pool.handle(WorkerJoined(join("mlp", workers=2), "00"))
    pool.settle()
    kinds = [type(each) for each in pool.log]
    told = pool.log.index(PublishRoutes(0))
    assert OpenOn in kinds[:told]
    assert SetWorkersOn in kinds[:told]
    workers = next(each for each in pool.log if isinstance(each, SetWorkersOn))
    assert (workers.from_step, workers.ranks) == (1, (0, 1))


def test_a_new_job_is_spread_over_as_many_aggregators_as_it_has_servers() -> None:
    pool = world()
    pool.handle(WorkerJoined(join("mlp", tensors=4, servers=2), "00"))
    pool.settle()
    # Sizes 4, 5, 6 and 7: the largest first, each to the one with fewer elements.
    assert pool.controller.state.jobs[0].homes.tolist() == [0, 1, 1, 0]


def test_each_tensor_has_a_replica_on_another_aggregator() -> None:
    pool = world()
    pool.handle(WorkerJoined(join("mlp", tensors=4, servers=2), "00"))
    pool.settle()
    assert pool.controller.state.jobs[0].replicas.tolist() == [1, 0, 0, 1]


def test_a_measured_job_is_packed_on_fewer_aggregators_and_the_others_are_released() -> None:
    pool = world()
    job = pool.place("mlp", 100 * MS, 10 * MS, tensors=4, servers=3)
    state = pool.controller.state
    assert len(set(state.jobs[job].homes.tolist())) == 1
    assert sorted(pool.aggregators) == sorted(state.aggregators)
    assert len(pool.aggregators) == 2  # One for the replicas.


def test_a_second_job_shares_an_aggregator_whose_cycle_has_room() -> None:
    pool = world()
    first = pool.place("mlp", 100 * MS, 10 * MS)
    second = pool.place("cnn", 100 * MS, 10 * MS)
    state = pool.controller.state
    assert state.jobs[first].live_homes == state.jobs[second].live_homes
    (home,) = state.jobs[first].live_homes
    shares = tuple(CycleShare(number, 100 * MS, 1, 40 * MS) for number in (first, second))
    assert state.aggregators[home].cycle == (100 * MS, shares)


def test_a_job_that_would_slow_another_down_gets_an_aggregator_of_its_own() -> None:
    pool = world()
    first = pool.place("mlp", 100 * MS, 10 * MS)
    second = pool.place("cnn", 150 * MS, 10 * MS)
    state = pool.controller.state
    assert set(state.jobs[first].live_homes).isdisjoint(state.jobs[second].live_homes)


def test_replicas_count_as_much_cpu_time_as_their_tensors() -> None:
    pool = world()
    pool.place("mlp", 100 * MS, 30 * MS, tensors=2)
    assert pool.controller.state.pool.aggregators == 2  # 4 x 30 ms in 100 ms.


def test_an_ended_job_releases_its_aggregators() -> None:
    pool = world()
    job = pool.place("mlp", 100 * MS, 10 * MS)
    ended = pool.handle(WorkerLeft(job, 0, 30))
    assert EndJob(job) in ended
    pool.settle()
    assert pool.aggregators == {}
    assert any(isinstance(each, StopAggregator) for each in pool.log)


def test_the_end_of_a_job_consolidates_what_the_others_need() -> None:
    pool = world()
    first = pool.place("a", 100 * MS, 21 * MS)
    pool.place("b", 100 * MS, 21 * MS)
    assert pool.controller.state.pool.aggregators == 2
    pool.handle(WorkerLeft(first, 0, 30))
    pool.settle()
    assert pool.controller.state.pool.aggregators == 1


def test_a_loss_of_speed_after_a_hundred_steps_adds_an_aggregator_and_spreads_the_job() -> None:
    pool = world()
    pool.place("a", 100 * MS, 10 * MS)
    second = pool.place("b", 100 * MS, 10 * MS, servers=2)
    assert pool.controller.state.pool.aggregators == 1
    pool.measure(second, 50, 130 * MS, 10 * MS)
    assert pool.controller.state.pool.aggregators == 1, "too early to judge"
    pool.measure(second, 130, 130 * MS, 10 * MS)
    assert pool.controller.state.pool.aggregators == 2
    pool.settle()
    pool.measure(second, 200, 130 * MS, 10 * MS)
    assert pool.controller.state.pool.aggregators == 2, "too early after the spread"
    assert any(isinstance(each, MoveTo) for each in pool.log)


def test_a_loss_within_the_limit_changes_nothing() -> None:
    pool = world()
    pool.place("a", 100 * MS, 10 * MS)
    second = pool.place("b", 100 * MS, 10 * MS)
    before = len(pool.log)
    pool.measure(second, 500, 110 * MS, 10 * MS)
    assert pool.log[before:] == []


def test_a_slower_job_without_neighbours_gets_another_profile() -> None:
    pool = world()
    job = pool.place("a", 100 * MS, 10 * MS)
    pool.measure(job, 500, 130 * MS, 10 * MS)
    pool.settle()
    state = pool.controller.state
    assert state.pool.aggregators == 1
    (home,) = state.jobs[job].live_homes
    assert state.aggregators[home].cycle[0] == 130 * MS


def test_profiles_follow_the_measured_cpu_time_after_a_period() -> None:
    pool = world()
    job = pool.place("a", 100 * MS, 10 * MS)
    pool.measure(job, 60, 100 * MS, 15 * MS)
    pool.tick(100.0)
    pool.settle()
    (home,) = pool.controller.state.jobs[job].live_homes
    ((share),) = pool.controller.state.aggregators[home].cycle[1]
    assert share.work_ns == 60 * MS


def test_waiting_jobs_stay_on_their_own_aggregators_until_the_period_ends() -> None:
    pool = world(on_demand=4)
    pool.tick()
    job = pool.place("a", 100 * MS, 10 * MS, tensors=4, servers=2)
    state = pool.controller.state
    assert (state.pool.aggregators, len(state.jobs[job].live_homes)) == (0, 2)
    pool.tick(state.settings.period_s + 1)
    pool.settle()
    assert (state.pool.aggregators, len(state.jobs[job].live_homes)) == (1, 1)


def test_a_job_without_room_for_its_servers_is_refused() -> None:
    pool = world(most=3)
    pool.place("a", 100 * MS, 10 * MS, servers=2)
    with pytest.raises(PoolFull, match="needs up to 3 Aggregators, and the pool uses 1 of at most"):
        pool.handle(WorkerJoined(join("b", servers=3), "00"))
    assert len(pool.controller.state.jobs) == 1


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (join("a", rank=0), "has a worker of rank 0 already"),
        (join("a", rank=1, tensors=3), "has 3 tensors, the first worker 2"),
        (join("b", rank=2, workers=2), "rank is 2; it must be from 0 to workers - 1 = 1"),
        (join("b", tensors=0), "has no tensors"),
    ],
)
def test_a_worker_that_cannot_join_is_refused_without_any_change(
    request_: object, message: str
) -> None:
    pool = world()
    pool.handle(WorkerJoined(join("a", workers=2), "00"))
    with pytest.raises(BadInput, match=message):
        pool.handle(WorkerJoined(request_, "00"))  # type: ignore[arg-type]
    assert pool.handle(WorkerSeen(0, 0)) == []


def test_a_worker_joins_at_a_step_that_all_aggregators_have_yet_to_begin() -> None:
    pool = world()
    job = pool.place("a", 100 * MS, 10 * MS)
    pool.handle(WorkerJoined(join("a", rank=1), "00"))
    assert pool.published[job] == pool.controller.state.jobs[job].version
    pool.settle()
    told = [each for each in pool.log if isinstance(each, SetWorkersOn) and each.ranks == (0, 1)]
    assert {each.from_step for each in told} == {20 + 2 + 20}
    assert {each.aggregator for each in told} == set(pool.aggregators)
    assert pool.controller.state.jobs[job].schedule.first_step(1) == 42


def test_routes_with_a_new_worker_wait_for_all_aggregators() -> None:
    pool = world()
    job = pool.place("a", 100 * MS, 10 * MS)
    version = pool.published[job]
    pool.handle(WorkerJoined(join("a", rank=1), "00"))
    assert pool.published[job] == version
    pool.settle()
    assert pool.published[job] == version + 1


def test_a_join_that_an_aggregator_refuses_as_too_late_is_put_off() -> None:
    pool = world()
    job = pool.place("a", 100 * MS, 10 * MS)
    pool.handle(WorkerJoined(join("a", rank=1), "00"))
    late = next(each for each in pool.pending.values() if isinstance(each, SetWorkersOn))
    del pool.pending[late.operation]
    pool.handle(OperationFailed(late.operation, "step 42 has been applied"))
    pool.tick(2.0)
    pool.settle()
    assert pool.controller.state.jobs[job].schedule.first_step(1) > 42


def test_a_late_join_is_put_off_also_if_the_end_of_its_step_is_measured_first() -> None:
    pool = world()
    job = pool.place("a", 100 * MS, 10 * MS)
    pool.handle(WorkerJoined(join("a", rank=1), "00"))
    (home,) = pool.controller.state.jobs[job].live_homes
    told = [each for each in pool.pending.values() if isinstance(each, SetWorkersOn)]
    (late,) = [each for each in told if each.aggregator == home]
    del pool.pending[late.operation]
    pool.measure(job, 50, 100 * MS, 10 * MS)
    pool.handle(OperationFailed(late.operation, "step 42 has been applied"))
    pool.tick(2.0)
    pool.settle()
    assert pool.controller.state.jobs[job].schedule.first_step(1) > 50


def test_a_lost_worker_is_not_waited_for_in_the_step_that_is_not_complete() -> None:
    pool = world()
    job = pool.place("a", 100 * MS, 10 * MS, workers=2)
    pool.handle(WorkerJoined(join("a", rank=1), "00"))
    pool.handle(WorkerLost(job, 1))
    told = [each for each in pool.pending.values() if isinstance(each, SetWorkersOn)]
    assert {(each.from_step, each.ranks) for each in told} == {(21, (0,))}


def test_a_job_without_workers_ends_after_a_while_unless_one_comes_back() -> None:
    pool = world()
    job = pool.place("a", 100 * MS, 10 * MS)
    pool.handle(WorkerLost(job, 0))
    pool.tick(5.0)
    assert pool.ended == {}
    pool.handle(WorkerJoined(join("a"), "00"))
    pool.tick(20.0)
    assert pool.ended == {}
    pool.handle(WorkerLost(job, 0))
    pool.tick(20.0)
    assert pool.ended == {job: ""}


def test_the_replica_of_a_dead_aggregator_serves_and_another_process_takes_its_place() -> None:
    pool = world()
    job = pool.place("a", 100 * MS, 10 * MS)
    (home,) = pool.controller.state.jobs[job].live_homes
    replica = int(pool.controller.state.jobs[job].replicas[0])
    pool.kill(home)
    (promotion,) = [each for each in pool.pending.values() if isinstance(each, PromoteOn)]
    assert (promotion.aggregator, promotion.tensors) == (replica, (0, 1))
    pool.settle()
    state = pool.controller.state
    assert len(pool.aggregators) == 2
    assert set(pool.homes.values()) == set(state.bindings.values())
    assert len(pool.replicas) == 2


def test_a_dead_aggregator_with_replicas_alone_is_replaced() -> None:
    pool = world()
    job = pool.place("a", 100 * MS, 10 * MS)
    replica = int(pool.controller.state.jobs[job].replicas[0])
    pool.kill(replica)
    pool.settle()
    assert len(pool.replicas) == 2
    assert replica not in pool.replicas.values()


def test_the_target_of_a_broken_move_serves_if_it_has_everything() -> None:
    pool = world()
    pool.handle(WorkerJoined(join("a", tensors=2, servers=2), "00"))
    pool.settle()
    pool.measure(0, 20, 100 * MS, 10 * MS)
    (move,) = [each for each in pool.pending.values() if isinstance(each, MoveTo)]
    pool.kill(move.aggregator, took_effect=True)
    pool.settle()
    assert pool.ended == {}
    assert len(pool.homes) == 2


def test_the_death_of_both_copies_ends_the_job_with_an_error() -> None:
    pool = world()
    job = pool.place("a", 100 * MS, 10 * MS)
    (home,) = pool.controller.state.jobs[job].live_homes
    replica = int(pool.controller.state.jobs[job].replicas[0])
    pool.kill(replica)
    pool.kill(home)
    assert "Aggregators with both copies of 2 tensors, 'w0' among them" in pool.ended[job]
    pool.settle()
    assert pool.aggregators == {}


def test_aggregators_that_do_not_start_end_the_job_with_an_error() -> None:
    pool = world()
    pool.handle(WorkerJoined(join("a"), "00"))
    while pool.starting:
        pool.kill(pool.starting[0])
    assert pool.ended[0] == "job 'a': 3 Aggregators did not start"


def test_a_failed_operation_is_tried_again_after_a_pause() -> None:
    pool = world()
    pool.handle(WorkerJoined(join("a"), "00"))
    pool.start(0)
    (opening,) = pool.pending
    pool.fail(opening)
    assert not pool.pending
    pool.tick(2.0)
    assert len(pool.pending) == 1


def test_what_is_measured_on_a_released_aggregator_is_ignored() -> None:
    pool = world()
    job = pool.place("a", 100 * MS, 10 * MS)
    late = JobMeasurement(job, 50, 50, 100 * MS, {0: MS}, {}, 0, 0)
    assert pool.handle(AggregatorMeasured(99, (late,))) == []
    assert pool.handle(AggregatorDied(99)) == []


def test_replicas_follow_a_move() -> None:
    pool = world()
    job = pool.place("mlp", 100 * MS, 10 * MS, tensors=4, servers=3)
    assert len(pool.replicas) == 4
    kept = set(pool.aggregators)
    assert set(pool.replicas.values()) <= kept
    assert pool.controller.state.jobs[job].replicas.tolist() == list(
        dict(sorted(pool.replicas.items())).values()
    )
    assert any(isinstance(each, ReplicateTo) for each in pool.log)
    assert any(isinstance(each, SetCycleOn) for each in pool.log)


def test_workers_that_are_not_seen_after_a_restart_are_not_waited_for() -> None:
    pool = world()
    job = pool.place("a", 100 * MS, 10 * MS, workers=2)
    state = pool.controller.state
    state.jobs[job].missing_since_s = {0: pool.now_s, 1: pool.now_s}
    pool.handle(WorkerSeen(job, 0))
    pool.tick(state.settings.linger_s + 1)
    told = [each for each in pool.pending.values() if isinstance(each, SetWorkersOn)]
    assert {each.ranks for each in told} == {(0,)}
