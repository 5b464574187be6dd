"""Simulated Aggregators with jobs that come on time and jobs that come late."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from motet.aggregation.aggregator.cycle.cycle_schedule import CycleSchedule, NextJob
from motet.aggregation.wire.aggregator_control import CycleShare

MS = 1_000_000


@dataclass
class SimulatedJob:
    """Computes for `think_ns`, then needs `pieces` of `piece_ns` each, and starts again.

    `delay`: factor of `think_ns` in delayed iterations.
    """

    number: int
    think_ns: int
    pieces: int
    piece_ns: int
    runs: int = 1
    delay: float = 1.0
    first_ns: int = 0
    step: int = 0
    left: int = 0
    ends_ns: list[int] = field(default_factory=list)

    @property
    def work_ns(self) -> int:
        return self.pieces * self.piece_ns

    @property
    def iteration_ns(self) -> int:
        return self.think_ns + self.work_ns

    def share(self) -> CycleShare:
        return CycleShare(self.number, self.iteration_ns, self.runs, self.work_ns)

    def longest_ns(self) -> int:
        """Of its later iterations."""
        ends = self.ends_ns[3:]
        return max(later - earlier for earlier, later in pairwise(ends))


def simulate(jobs: list[SimulatedJob], cycle_ns: int, until_ns: int, *, is_fifo: bool) -> None:
    schedule = CycleSchedule()
    if not is_fifo:
        schedule.set_cycle(cycle_ns, [job.share() for job in jobs], 0)
    by_number = {job.number: job for job in jobs}
    arrivals = [(job.first_ns, job.number) for job in jobs]
    heapq.heapify(arrivals)
    ready: dict[int, int] = {}
    now_ns = 0
    while now_ns < until_ns:
        while arrivals and arrivals[0][0] <= now_ns:
            _, number = heapq.heappop(arrivals)
            job = by_number[number]
            job.step += 1
            job.left = job.pieces
            schedule.arrived(number, job.step, now_ns)
            ready[number] = job.piece_ns
        choice = schedule.choose(ready, now_ns)
        if choice.job is None:
            next_ns = arrivals[0][0] if arrivals else until_ns
            now_ns = max(min(choice.wake_ns or next_ns, next_ns), now_ns + 1)
            continue
        job = by_number[choice.job]
        now_ns += job.piece_ns
        schedule.ran(job.number, job.piece_ns)
        job.left -= 1
        if job.left == 0:
            del ready[job.number]
            job.ends_ns.append(now_ns)
            heapq.heappush(arrivals, (now_ns + int(job.think_ns * job.delay), job.number))


def two_jobs(delay: float) -> list[SimulatedJob]:
    """Alone, both fit the cycle of 100 ms: their work is at different times."""
    return [
        SimulatedJob(1, 60 * MS, 40, MS),
        SimulatedJob(2, 60 * MS, 8, 5 * MS, delay=delay, first_ns=50 * MS),
    ]


def test_a_job_delayed_five_times_stretches_no_iteration_of_its_neighbour() -> None:
    steady, late = two_jobs(delay=5.13)
    simulate([steady, late], 100 * MS, 20_000 * MS, is_fifo=False)
    assert steady.longest_ns() <= 1.05 * steady.iteration_ns
    assert len(late.ends_ns) > 0.75 * 20_000 * MS / (5.13 * 60 * MS + 40 * MS)


def test_the_order_of_arrival_would_stretch_it() -> None:
    steady, late = two_jobs(delay=5.13)
    simulate([steady, late], 100 * MS, 20_000 * MS, is_fifo=True)
    assert steady.longest_ns() > 1.05 * steady.iteration_ns


def test_jobs_on_time_lose_nothing() -> None:
    jobs = two_jobs(delay=1.0)
    simulate(jobs, 100 * MS, 5_000 * MS, is_fifo=False)
    assert [job.longest_ns() for job in jobs] == [100 * MS, 100 * MS]


def test_late_work_runs_at_once_where_it_delays_no_job() -> None:
    schedule = CycleSchedule()
    schedule.set_cycle(100 * MS, [CycleShare(1, 100 * MS, 1, 40 * MS)], 0)
    assert not schedule.arrived(1, 1, 0)
    assert schedule.arrived(1, 2, 150 * MS)
    assert schedule.choose({1: 40 * MS}, 150 * MS).job == 1


def test_late_work_that_no_longer_fits_waits_for_the_next_cycle() -> None:
    schedule = CycleSchedule()
    schedule.set_cycle(100 * MS, [CycleShare(1, 100 * MS, 1, 30 * MS)], 0)
    schedule.arrived(1, 1, 10 * MS)
    assert schedule.arrived(1, 2, 185 * MS)
    assert schedule.choose({1: 20 * MS}, 185 * MS) == NextJob(None, 200 * MS)
    assert schedule.take_postponed() == [1]
    assert schedule.choose({1: 20 * MS}, 200 * MS).job == 1


def test_late_work_waits_for_a_neighbour_that_is_about_to_come() -> None:
    schedule = CycleSchedule()
    shares = [CycleShare(1, 100 * MS, 1, 30 * MS), CycleShare(2, 50 * MS, 2, 5 * MS)]
    schedule.set_cycle(100 * MS, shares, 0)
    for number in (1, 2):
        schedule.arrived(number, 1, 0)
    schedule.arrived(2, 2, 50 * MS)
    schedule.arrived(2, 3, 100 * MS)
    assert schedule.arrived(1, 2, 140 * MS)
    assert schedule.choose({1: 20 * MS}, 140 * MS).job is None
    assert schedule.choose({1: 20 * MS, 2: MS}, 150 * MS).job == 2
    assert schedule.choose({1: 12 * MS}, 140 * MS).job == 1
    assert schedule.take_postponed() == []


@pytest.mark.parametrize("cost_ms", [1, 90])
def test_work_of_a_job_without_a_share_is_never_held_back(cost_ms: int) -> None:
    schedule = CycleSchedule()
    schedule.set_cycle(100 * MS, [CycleShare(1, 100 * MS, 1, 40 * MS)], 0)
    schedule.arrived(1, 1, 0)
    assert schedule.choose({9: cost_ms * MS}, 95 * MS).job == 9


def test_late_work_does_not_starve_behind_neighbours_without_gaps() -> None:
    late = SimulatedJob(2, 60 * MS, 1, 30 * MS, delay=2.0, first_ns=10 * MS)
    steady = SimulatedJob(1, 10 * MS, 1, 15 * MS, runs=4)
    simulate([steady, late], 100 * MS, 5_000 * MS, is_fifo=False)
    assert len(late.ends_ns) >= 10


def test_jobs_that_are_slower_than_their_profiles_postpone_nothing_on_a_free_aggregator() -> None:
    jobs = [
        SimulatedJob(1, 100 * MS, 5, MS, runs=2, delay=1.3),
        SimulatedJob(2, 200 * MS, 5, MS, delay=1.7, first_ns=30 * MS),
    ]
    simulate(jobs, 205 * MS, 10_000 * MS, is_fifo=False)
    assert jobs[0].longest_ns() <= 1.05 * (130 + 5) * MS
    assert jobs[1].longest_ns() <= 1.05 * (340 + 5) * MS
