"""Simulated Aggregators with jobs that come on time and jobs that come late."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from example_count import examples
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

    def longest_ns(self, after_ns: int = 0) -> int:
        """Of its later iterations; those that began after a moment."""
        ends = [end for end in self.ends_ns[3:] if end > after_ns]
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
            at_ns, number = heapq.heappop(arrivals)
            job = by_number[number]
            job.step += 1
            job.left = job.pieces
            schedule.arrived(number, job.step, at_ns)
            ready[number] = job.piece_ns
        choice = schedule.choose(ready, now_ns)
        if choice.job is None:
            next_ns = arrivals[0][0] if arrivals else until_ns
            now_ns = max(min(choice.wake_ns or next_ns, next_ns), now_ns + 1)
            continue
        job = by_number[choice.job]
        now_ns += job.piece_ns
        schedule.ran(job.number, job.piece_ns, now_ns)
        job.left -= 1
        del ready[job.number]
        if job.left:
            ready[job.number] = job.piece_ns  # Behind the other jobs, as in `ComputeLoop`.
        else:
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


def test_nor_of_one_that_is_faster_than_its_place_in_the_cycle() -> None:
    """It runs every 92 ms, since the Aggregator holds nobody back who comes early."""
    steady, late = two_jobs(delay=5.13)
    steady.think_ns -= 8 * MS
    simulate([steady, late], 100 * MS, 20_000 * MS, is_fifo=False)
    assert steady.longest_ns() <= 1.05 * steady.iteration_ns
    assert len(late.ends_ns) > 0.75 * 20_000 * MS / (5.13 * 60 * MS + 40 * MS)


def test_nor_by_several_works_that_each_wait_for_a_gap() -> None:
    """Each work fits between two iterations of the neighbour, two together do not."""
    steady = SimulatedJob(1, 70 * MS, 30, MS, runs=3)
    late = SimulatedJob(2, 100 * MS, 5, 40 * MS, delay=5.13, first_ns=45 * MS)
    simulate([steady, late], 300 * MS, 60_000 * MS, is_fifo=False)
    assert steady.longest_ns() <= 1.05 * steady.iteration_ns
    assert len(late.ends_ns) > 0.75 * 60_000 * MS / (5.13 * 100 * MS + 5 * 100 * MS)


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[int, SimulatedJob, SimulatedJob]:
    """A cycle, a job on time, and one that is late from its second iteration on: its works fit into
    the gaps, and the cycle has room for both."""
    cycle_ms, runs = draw(st.integers(100, 400)), draw(st.integers(1, 3))
    iteration_ns = int(cycle_ms * MS / runs * draw(st.floats(0.91, 1.0)))
    work_ns = int(iteration_ns * draw(st.floats(0.02, 0.5)))
    pieces = draw(st.integers(1, 8))
    steady = SimulatedJob(1, iteration_ns - work_ns, pieces, work_ns // pieces, runs=runs)
    piece_ns = int(steady.think_ns * draw(st.floats(0.05, 0.85)))
    free_ns = cycle_ms * MS - runs * work_ns
    count = min(max(int(free_ns * draw(st.floats(0.2, 1.0))) // piece_ns, 1), 12)
    think_ns = cycle_ms * MS - count * piece_ns
    delay = draw(st.sampled_from([2.0, 5.0, 9.0]))
    first_ns = draw(st.integers(0, cycle_ms)) * MS
    late = SimulatedJob(2, think_ns, count, piece_ns, delay=delay, first_ns=first_ns)
    assume(delay * think_ns + late.work_ns > 1.25 * cycle_ms * MS)
    return cycle_ms * MS, steady, late


@settings(max_examples=examples(60))
@given(neighbours())
def test_nor_by_any_work_for_which_there_are_gaps(
    drawn: tuple[int, SimulatedJob, SimulatedJob],
) -> None:
    cycle_ns, steady, late = drawn
    simulate([steady, late], cycle_ns, 60 * cycle_ns, is_fifo=False)
    assert steady.longest_ns(after_ns=late.ends_ns[0]) <= 1.05 * steady.iteration_ns
    alone_ns = late.delay * late.think_ns + late.work_ns
    assert len(late.ends_ns) >= 60 * cycle_ns // int(2.2 * alone_ns + 4 * cycle_ns)


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
    assert schedule.choose({1: 11 * MS}, 140 * MS).job == 1
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
