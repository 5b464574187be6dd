"""The tuner on a simulated machine: memory is kept free, and no more is on disk than helps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.runtime.spilling.machine_memory import MemoryState
from motet.runtime.spilling.share_tuner import (
    EpochLoads,
    SpillState,
    after_epoch,
    enough_free,
    first_share,
    least_free,
    left_for_input,
    most_on_disk,
    relieved,
)

LIMIT = 1000
FREE_LOADS = EpochLoads(1.0, 1.0, 0.0)


def machine(jobs: list[SpillState], others: float) -> MemoryState:
    used = others + sum(job.resident_bytes for job in jobs)
    return MemoryState(LIMIT, round(max(LIMIT - used, 0)))


def run(jobs: list[SpillState], others: float, rounds: int) -> list[SpillState]:
    """Every job looks at the memory twice an epoch."""
    for _ in range(rounds):
        for place in range(len(jobs)):
            jobs[place] = relieved(jobs[place], machine(jobs, others))
            jobs[place] = after_epoch(jobs[place], machine(jobs, others), FREE_LOADS)
    return jobs


JOBS = st.lists(
    st.builds(SpillState, st.integers(8, 60), st.integers(2, 12).map(float), st.just(0)),
    min_size=1,
    max_size=8,
)


@settings(max_examples=examples(200))
@given(JOBS, st.integers(0, 500))
def test_jobs_beside_each_other_leave_memory_free(jobs: list[SpillState], others: int) -> None:
    jobs = run(jobs, others, 30)
    memory = machine(jobs, others)
    biggest = max(job.section_bytes for job in jobs)
    enough = memory.free_bytes >= least_free(memory) - biggest
    assert enough or all(job.on_disk == job.sections for job in jobs)


@settings(max_examples=examples(200))
@given(JOBS, st.integers(0, 500), st.integers(0, 500))
def test_what_memory_has_room_for_comes_back(
    jobs: list[SpillState], before: int, after: int
) -> None:
    jobs = run(run(jobs, before, 20), after, 40)
    memory = machine(jobs, after)
    biggest = max(job.section_bytes for job in jobs)
    assert memory.free_bytes <= enough_free(memory) + biggest or all(
        job.on_disk == 0 for job in jobs
    )


def mean_share(jobs: list[SpillState]) -> float:
    on_disk = sum(job.on_disk * job.section_bytes for job in jobs)
    return on_disk / sum(job.sections * job.section_bytes for job in jobs)


def train_in_turns(
    jobs: list[SpillState], others: float, loads: EpochLoads, epochs: int, random: Random
) -> None:
    """The jobs end their epochs in any order, and know of each other."""
    for _ in range(epochs):
        for place in random.sample(range(len(jobs)), len(jobs)):
            jobs[place] = relieved(jobs[place], machine(jobs, others))
            memory, mean = machine(jobs, others), mean_share(jobs)
            jobs[place] = after_epoch(jobs[place], memory, loads, mean)


@settings(max_examples=examples(100))
@given(st.integers(2, 6), st.integers(0, 300), st.randoms(use_true_random=False))
def test_jobs_that_know_of_each_other_end_with_about_the_same_share(
    count: int, others: int, random: Random
) -> None:
    """Whoever came first has more in memory; 10 MB sections, twice the data of the memory."""
    sections = 2 * LIMIT // count // 10
    room = (LIMIT - enough_free(MemoryState(LIMIT, LIMIT)) - others) / 10
    jobs = []
    for _ in range(count):
        in_memory = min(int(room), sections)
        room -= in_memory
        jobs.append(SpillState(sections, 10.0, sections - in_memory))
    train_in_turns(jobs, others, FREE_LOADS, 30, random)
    shares = [job.share for job in jobs]
    assert max(shares) - min(shares) <= 0.25
    memory = machine(jobs, others)
    assert least_free(memory) - 10 <= memory.free_bytes


def test_without_knowing_of_others_the_job_that_came_first_keeps_the_memory() -> None:
    first, second = run([SpillState(20, 10.0, 4), SpillState(20, 10.0, 20)], 650, 30)
    assert second.share - first.share > 0.5


def test_a_job_below_the_mean_leaves_free_memory_to_the_others() -> None:
    state, memory = SpillState(40, 10.0, 10), MemoryState(LIMIT, 400)
    assert after_epoch(state, memory, FREE_LOADS, 0.5) == state
    assert after_epoch(state, memory, FREE_LOADS, 0.25).on_disk < 10


@settings(max_examples=examples(100))
@given(st.integers(2, 6), st.integers(0, 300), st.randoms(use_true_random=False))
def test_jobs_on_a_slow_disk_share_the_memory_that_reading_asks_for(
    count: int, others: int, random: Random
) -> None:
    """All of them want more in memory than there is; one came last, and has all on disk."""
    slow = EpochLoads(1.0, 1.0, 2.0)
    sections = 2 * LIMIT // count // 10
    room = (LIMIT - least_free(MemoryState(LIMIT, LIMIT)) - others) / 10
    each = min(int(room / (count - 1)), sections)
    jobs = [SpillState(sections, 10.0, sections - each) for _ in range(count - 1)]
    jobs.append(SpillState(sections, 10.0, sections))
    train_in_turns(jobs, others, slow, 40, random)
    shares = [job.share for job in jobs]
    assert max(shares) - min(shares) <= 0.2
    memory = machine(jobs, others)
    assert least_free(memory) - 10 <= memory.free_bytes


@pytest.mark.parametrize("step", [-1, 1])
def test_a_trial_takes_no_memory_that_is_not_there(step: int) -> None:
    """The bound of a slow disk is far below what memory has room for."""
    state = SpillState(65, 10.0, 56, pause=0, step=step)
    memory = MemoryState(LIMIT, round(least_free(MemoryState(LIMIT, LIMIT))))
    assert after_epoch(state, memory, EpochLoads(1.0, 1.0, 2.0)).on_disk == 56


def test_a_trial_ends_before_shares_are_evened() -> None:
    state, memory = SpillState(40, 1.0, 20, before=(1.0, 22)), MemoryState(LIMIT, 180)
    assert after_epoch(state, memory, FREE_LOADS, 0.9).on_disk in (20, 22)


def test_a_job_that_fits_never_uses_the_disk() -> None:
    (job,) = run([SpillState(20, 10.0, 0)], 300, 50)
    assert job.on_disk == 0


def test_of_two_jobs_the_one_with_more_in_memory_spills_more() -> None:
    small, large = run([SpillState(20, 10.0, 0), SpillState(80, 10.0, 0)], 300, 30)
    assert large.on_disk > small.on_disk


@given(st.integers(1, 200), st.floats(0.01, 10), st.floats(0.01, 10))
def test_the_bound_is_that_of_the_source(sections: int, process_s: float, load_s: float) -> None:
    most = most_on_disk(sections, EpochLoads(1.0, process_s, load_s))
    assert 1 <= most <= sections
    assert process_s * (sections - 1) >= load_s * (most - 1) * (1 - 1e-9)
    if most < sections:
        assert process_s * (sections - 1) < load_s * most * (1 + 1e-9)


def test_a_slow_disk_gets_no_more_than_it_can_deliver_where_memory_allows() -> None:
    memory = MemoryState(LIMIT, 180)
    state = SpillState(40, 2.0, 30)
    slow = EpochLoads(1.0, 0.01, 0.05)
    assert after_epoch(state, memory, slow).on_disk == most_on_disk(40, slow) == 8
    assert after_epoch(state, MemoryState(LIMIT, 124), slow).on_disk == 28


@pytest.mark.parametrize("best", [4, 11, 20])
def test_hill_climbing_ends_near_the_best_number(best: int) -> None:
    """Memory lies within the band, and the time of an epoch has its least at `best`."""
    state, seen = SpillState(40, 1.0, 12), []
    for _ in range(200):
        memory = MemoryState(LIMIT, 180)
        loads = EpochLoads(1.0 + 0.05 * abs(state.on_disk - best), 1.0, 0.0)
        state = after_epoch(state, memory, loads)
        seen.append(state.on_disk)
    size = 40 // 16
    assert all(abs(each - best) <= 2 * size for each in seen[100:])
    changes = sum(left != right for left, right in pairwise(seen[100:]))
    assert changes <= 12


def test_a_trial_that_helps_nothing_is_taken_back_and_comes_ever_later() -> None:
    state, changes = SpillState(40, 1.0, 12), []
    for epoch in range(200):
        before = state.on_disk
        state = after_epoch(state, MemoryState(LIMIT, 180), FREE_LOADS)
        if state.on_disk != before:
            changes.append(epoch)
    gaps = [later - sooner for sooner, later in zip(changes[::2], changes[2::2], strict=False)]
    assert state.on_disk in (12, 10, 14)
    assert gaps[-1] > 4 * gaps[0]


def test_many_major_faults_count_as_pressure() -> None:
    state = SpillState(20, 10.0, 0)
    calm = MemoryState(LIMIT, 500, major_faults=900)
    assert relieved(state, calm).on_disk == 0
    thrashing = replace(calm, major_faults=5000)
    assert relieved(relieved(state, calm), thrashing).on_disk > 0


@pytest.mark.parametrize(
    ("data", "free", "share"), [(100, 900, 0.0), (600, 540, 0.5), (500, 100, 1.0), (0, 0, 0.0)]
)
def test_the_first_share_is_what_does_not_fit(data: int, free: int, share: float) -> None:
    assert first_share(data, MemoryState(LIMIT, free)) == pytest.approx(share)


@given(st.integers(0, LIMIT), st.integers(0, 2 * LIMIT))
def test_what_is_free_beyond_enough_is_left_to_a_model_on_disk(free: int, absent: int) -> None:
    memory = MemoryState(LIMIT, free)
    left = left_for_input(memory, absent).free_bytes
    assert left <= free
    assert left >= min(free, int(enough_free(memory)))
    if free - absent >= enough_free(memory):
        assert left == free - absent
    if free <= enough_free(memory):
        assert left == free


def test_states_are_values() -> None:
    change: Callable[[SpillState], SpillState] = lambda state: relieved(  # noqa: E731
        state, MemoryState(LIMIT, 0)
    )
    state = SpillState(20, 10.0, 0)
    assert change(state) == change(state) != state
