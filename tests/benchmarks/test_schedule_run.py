"""Schedules of Harmony's benchmark: which jobs share machines, and what the simulated ones take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from motet.estimate.colocation.group_time import SubtaskTimes
from motet.harmony.problem import GroupingProblem
from support.schedule_choices import (
    Choose,
    Place,
    ProfiledJob,
    Running,
    by_chance,
    comm_growth,
    grouped,
    isolated,
)
from support.schedule_run import (
    ScheduleLog,
    SimulatedGround,
    Stay,
    predicted,
    run_schedule,
)

COMPUTES, SENDS = SubtaskTimes(3.0, 1.0), SubtaskTimes(1.0, 3.0)
NO_LIMIT = float("inf")


def jobs(*times: SubtaskTimes, iterations: float = 10, memory: float = 0.0) -> list[ProfiledJob]:
    return [ProfiledJob(f"job {row}", each, iterations, memory) for row, each in enumerate(times)]


def test_isolated_jobs_run_one_after_the_other_on_one_machine() -> None:
    log = predicted(jobs(COMPUTES, SENDS), 1, NO_LIMIT, isolated, start_s=5.0)
    assert log.ends_s == pytest.approx([45.0, 90.0])
    assert log.moves == 0
    assert log.most_beside() == pytest.approx(1.0)


def test_an_isolated_job_on_two_machines_computes_half_as_long() -> None:
    log = predicted(jobs(COMPUTES), 2, NO_LIMIT, isolated, start_s=0.0)
    assert log.ends_s == pytest.approx([10 * (3.0 / 2 + 1.0)])


def test_grouped_jobs_interleave() -> None:
    """Eq. 4.1: both iterate in 4 s."""
    log = predicted(jobs(COMPUTES, SENDS), 1, NO_LIMIT, grouped, start_s=0.0)
    assert log.ends_s == pytest.approx([40.0, 40.0])
    assert log.most_beside() == pytest.approx(2.0)


def test_a_waiting_job_replaces_one_that_ended() -> None:
    four = jobs(COMPUTES, SENDS, COMPUTES, SENDS)
    log = predicted(four, 1, NO_LIMIT, grouped, start_s=0.0)
    assert sorted(log.ends_s) == pytest.approx([40.0, 40.0, 80.0, 80.0])
    assert log.moves == 0


def test_groups_without_memory_for_two_jobs_have_one() -> None:
    two = jobs(COMPUTES, SENDS, memory=3.0)
    assert predicted(two, 1, 5.0, grouped, start_s=0.0).most_beside() == pytest.approx(1.0)
    assert predicted(two, 1, 6.0, grouped, start_s=0.0).most_beside() == pytest.approx(2.0)


def test_groups_by_chance_have_all_jobs_as_far_as_memory_suffices() -> None:
    twelve = jobs(*[COMPUTES] * 12, memory=1.0)
    now = Running(twelve, 4, 2.0, waiting=list(range(12)))
    places = by_chance(now)
    counts = [sum(place == (machine,) for place in places.values()) for machine in range(4)]
    assert counts == [2, 2, 2, 2]
    now.memory_bytes = NO_LIMIT
    assert sorted(by_chance(now)) == list(range(12))


def test_a_job_that_starts_takes_no_turns() -> None:
    """Two iterate in 6 s until 16 s, one in 4 s until the third one trains, then both in 6 s."""
    three = jobs(COMPUTES, COMPUTES, COMPUTES)
    three[1] = ProfiledJob("short", COMPUTES, 2)

    def choose(now: Running) -> Mapping[int, Place]:
        return dict.fromkeys([0, 1] if now.is_first else [0, 2], (0,))

    log = run_schedule(SimulatedGround(three, start_s=4.0), Running(three, 1), only_active(choose))
    assert log.ends_s == pytest.approx([62.0, 16.0, 74.0])


def only_active(choose: Choose) -> Choose:
    """Jobs that have ended are not chosen again."""

    def found(now: Running) -> Mapping[int, Place]:
        active = {*now.places, *now.waiting}
        return {job: place for job, place in choose(now).items() if job in active}

    return found


class ScriptedChoice:
    """The first job moves to the other machine when the second one has ended."""

    def __call__(self, now: Running) -> Mapping[int, Place]:
        if now.is_first:
            return {0: (0,), 1: (1,)}
        return dict.fromkeys([*now.places, *now.waiting], (1,))


def test_a_job_that_moves_goes_on_where_it_was() -> None:
    first, second = jobs(COMPUTES, COMPUTES)
    short = ProfiledJob(second.name, second.times, 5)
    ground = SimulatedGround([first, short], start_s=2.0)
    log = run_schedule(ground, Running([first, short], 2), ScriptedChoice())
    assert log.ends_s == pytest.approx([22.0 + 2.0 + 20.0, 22.0])
    assert log.moves == 1


class EndsWhilePaused(SimulatedGround):
    """The job that is to move has ended before it could stop."""

    def pause(self, jobs: Sequence[int]) -> list[int]:
        super().pause(jobs)
        return list(jobs)


def test_a_job_may_end_while_it_is_paused() -> None:
    two = jobs(COMPUTES, COMPUTES)
    two[1] = ProfiledJob("short", COMPUTES, 5)
    log = run_schedule(EndsWhilePaused(two, 0.0), Running(two, 2), ScriptedChoice())
    assert log.ends_s == pytest.approx([20.0, 20.0])
    assert log.moves == 0


def test_measured_steps_count_instead_of_those_that_follow() -> None:
    measured = {(0, 1): SubtaskTimes(2.0, 1.0, gap_s=4.0)}
    log = predicted(jobs(COMPUTES), 1, NO_LIMIT, isolated, 0.0, measured=measured)
    assert log.ends_s == pytest.approx([70.0])


def test_jobs_beside_each_other_are_counted_while_machines_are_in_use() -> None:
    stays = (Stay(0, (0,), 0.0, 10.0, True), Stay(1, (0, 1), 5.0, 15.0, True))
    assert ScheduleLog(stays, ()).most_beside() == pytest.approx((10 + 20) / (15 + 10))


def test_comm_grows_with_the_part_of_the_model_that_other_hosts_have() -> None:
    """A machine of two hosts: 1/2 of the model is elsewhere; of two such machines 3/4."""
    assert comm_growth(1, hosts_per_machine=2) == 1.0
    assert comm_growth(2, hosts_per_machine=2) == pytest.approx(0.75 / 0.5)
    job = ProfiledJob("sends", SubtaskTimes(2.0, 4.0), 10)
    for hosts, iteration_s in ((None, 1.0 + 4.0), (2, 1.0 + 6.0)):
        log = predicted([job], 2, NO_LIMIT, isolated, 0.0, hosts)
        assert log.makespan_s == pytest.approx(10 * iteration_s)


def test_what_is_left_and_the_time_of_a_move_are_known_at_each_decision() -> None:
    two = jobs(COMPUTES, COMPUTES)
    two[1] = ProfiledJob("short", COMPUTES, 5)
    seen = []

    def watching(now: Running) -> Mapping[int, Place]:
        seen.append(([round(each, 6) for each in now.iterations_left], now.move_s))
        return ScriptedChoice()(now)

    run_schedule(SimulatedGround(two, start_s=2.0), Running(two, 2), watching)
    first, second = seen[:2]
    assert first == ([10.0, 5.0], 2.0)
    assert second == ([5.0, 0.0], 2.0)


def test_a_choice_knows_that_comm_is_longer_on_more_machines() -> None:
    costs = Running(jobs(COMPUTES), 4, hosts_per_machine=2).costs()
    problem = GroupingProblem(costs, 4)
    for machines in (1, 2, 4):
        expected_s = COMPUTES.comm_s * comm_growth(machines, 2)
        assert problem.times(0, machines).comm_s == pytest.approx(expected_s)
