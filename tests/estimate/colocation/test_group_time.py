"""Eq. 4.1, 4.3 and 4.4: worked examples, bounds, and a simulation of the subtasks as oracle."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.estimate.colocation.group_time import (
    GroupBound,
    SubtaskTimes,
    Utilisation,
    bound_of,
    cluster_utilisation,
    group_iteration_s,
    job_iteration_s,
    utilisation_of,
)
from subtask_simulation import ends_of_iterations

ITERATIONS = 60
DURATIONS = st.integers(0, 40)
PLAIN = st.just(0), st.just(0), st.just(False)
JOB = st.builds(SubtaskTimes, st.integers(1, 40), DURATIONS, *PLAIN)
JOBS = st.lists(JOB, min_size=1, max_size=6)
OUTSIDE = st.lists(DURATIONS, min_size=6, max_size=6)
OVERLAPS = st.lists(st.booleans(), min_size=6, max_size=6)


def with_outside(jobs: list[SubtaskTimes], outside: list[int]) -> list[SubtaskTimes]:
    return [job._replace(outside_s=each) for job, each in zip(jobs, outside, strict=False)]


def test_jobs_that_complement_each_other_use_both_resources_all_the_time() -> None:
    jobs = [SubtaskTimes(3, 1), SubtaskTimes(1, 3)]
    assert group_iteration_s(jobs) == 4
    assert utilisation_of(jobs) == (1.0, 1.0)


def test_jobs_that_communicate_most_leave_the_cpu_idle() -> None:
    jobs = [SubtaskTimes(1, 3), SubtaskTimes(2, 3)]
    assert (group_iteration_s(jobs), bound_of(jobs)) == (6, GroupBound.NETWORK)
    assert utilisation_of(jobs) == (0.5, 1.0)


def test_a_long_job_leaves_both_resources_idle() -> None:
    jobs = [SubtaskTimes(6, 4), SubtaskTimes(1, 1)]
    assert (group_iteration_s(jobs), bound_of(jobs)) == (10, GroupBound.JOB)
    assert utilisation_of(jobs) == (0.7, 0.5)


def test_a_job_alone_alternates_between_the_resources() -> None:
    assert utilisation_of([SubtaskTimes(3, 1)]) == (0.75, 0.25)


def test_a_cluster_weighs_groups_by_their_machines() -> None:
    groups = [(3, Utilisation(1.0, 0.5)), (1, Utilisation(0.6, 0.9))]
    assert cluster_utilisation(groups) == pytest.approx((0.9, 0.6))


def test_nothing_is_used_without_jobs_or_machines() -> None:
    assert group_iteration_s([]) == 0
    assert utilisation_of([]) == (0.0, 0.0)
    assert cluster_utilisation([]) == (0.0, 0.0)


def test_the_scalar_weighs_the_cpu_above_the_network() -> None:
    assert Utilisation(1.0, 0.0).scalar() == pytest.approx(0.7)
    assert Utilisation(0.5, 1.0).scalar(0.6) == pytest.approx(0.7)


@given(JOBS)
def test_utilisation_is_a_fraction_and_one_where_a_resource_is_the_bound(
    jobs: list[SubtaskTimes],
) -> None:
    use = utilisation_of(jobs)
    assert 0 <= use.cpu <= 1
    assert 0 <= use.network <= 1
    assert (use.cpu == 1) == (sum(job.comp_s for job in jobs) == group_iteration_s(jobs))
    if bound_of(jobs) is GroupBound.NETWORK:
        assert use.network == 1


@given(JOBS, JOB)
def test_one_more_job_never_shortens_the_group_iteration(
    jobs: list[SubtaskTimes], more: SubtaskTimes
) -> None:
    longer_s = group_iteration_s([*jobs, more])
    assert group_iteration_s(jobs) <= longer_s <= group_iteration_s(jobs) + more.iteration_s


@given(JOBS, st.integers(0, 5), st.integers(0, 20), st.integers(0, 20))
def test_longer_subtasks_never_shorten_the_group_iteration(
    jobs: list[SubtaskTimes], place: int, comp_s: int, comm_s: int
) -> None:
    longer = list(jobs)
    job = longer[place % len(jobs)]
    longer[place % len(jobs)] = SubtaskTimes(job.comp_s + comp_s, job.comm_s + comm_s)
    assert group_iteration_s(longer) >= group_iteration_s(jobs)


@given(JOBS, OUTSIDE)
def test_cpu_time_outside_of_comp_is_added_to_comp_alone(
    jobs: list[SubtaskTimes], outside: list[int]
) -> None:
    """On one core a group takes as long as its work there, if nothing else takes longer."""
    busy = with_outside(jobs, outside)
    cpu_s = sum(job.comp_s + job.outside_s for job in busy)
    assert group_iteration_s(busy) == max(group_iteration_s(jobs), cpu_s)
    assert utilisation_of(busy).cpu == pytest.approx(cpu_s / group_iteration_s(busy))


@given(JOBS, OUTSIDE, st.integers(0, 5), st.integers(1, 40))
def test_more_cpu_time_outside_of_comp_never_shortens_the_group_iteration(
    jobs: list[SubtaskTimes], outside: list[int], place: int, more: int
) -> None:
    before = with_outside(jobs, outside)
    outside[place] += more
    longer = group_iteration_s(with_outside(jobs, outside))
    assert group_iteration_s(before) <= longer <= group_iteration_s(before) + more


@given(JOBS, OUTSIDE)
def test_simulated_jobs_with_work_outside_of_comp_on_the_same_core_take_no_less(
    jobs: list[SubtaskTimes], outside: list[int]
) -> None:
    """As when a worker encodes its PUSH, and a server adds it up, on the core of COMP."""
    busy = with_outside(jobs, outside)
    steps = [
        [("cpu", int(job.comp_s)), ("network", int(job.comm_s)), ("cpu", int(job.outside_s))]
        for job in busy
    ]
    last_s = max(ends[-1] for ends in ends_of_iterations(steps, ITERATIONS))
    assert last_s >= ITERATIONS * group_iteration_s(busy)


def test_cpu_time_outside_of_comp_makes_the_cpu_the_bound() -> None:
    jobs = [SubtaskTimes(3, 4, 2), SubtaskTimes(3, 2, 1)]
    assert (group_iteration_s(jobs), bound_of(jobs)) == (9, GroupBound.CPU)
    assert [job.imbalance_s for job in jobs] == [1, 2]
    assert [job.iteration_s for job in jobs] == [7, 5]


@given(JOBS)
def test_simulated_jobs_with_one_comm_take_exactly_the_group_iteration(
    jobs: list[SubtaskTimes],
) -> None:
    """All iterations end within one first iteration, with every job in a row, of the prediction."""
    steps = [[("cpu", int(job.comp_s)), ("network", int(job.comm_s))] for job in jobs]
    slack_s = sum(job.iteration_s for job in jobs)
    predicted_s = ITERATIONS * group_iteration_s(jobs)
    last_s = max(ends[-1] for ends in ends_of_iterations(steps, ITERATIONS))
    assert predicted_s <= last_s <= predicted_s + slack_s


@given(st.lists(st.tuples(DURATIONS, st.integers(1, 40), DURATIONS), min_size=1, max_size=6))
def test_simulated_jobs_with_separate_pull_and_push_take_no_less(
    jobs: list[tuple[int, int, int]],
) -> None:
    times = [SubtaskTimes(comp_s, pull_s + push_s) for pull_s, comp_s, push_s in jobs]
    steps = [
        [("network", pull_s), ("cpu", comp_s), ("network", push_s)]
        for pull_s, comp_s, push_s in jobs
    ]
    last_s = max(ends[-1] for ends in ends_of_iterations(steps, ITERATIONS))
    assert last_s >= ITERATIONS * group_iteration_s(times)


@given(JOBS, OUTSIDE)
def test_a_gap_delays_its_own_job_alone(jobs: list[SubtaskTimes], gaps: list[int]) -> None:
    """While a job waits without a token, the others use the machines."""
    pairs = zip(jobs, gaps, strict=False)
    group = [job._replace(gap_s=gap) for job, gap in pairs]
    group_s = group_iteration_s(jobs)
    assert group_iteration_s(group) == group_s
    for job in group:
        own_s = job.comp_s + job.comm_s + job.gap_s
        assert job.iteration_s == own_s
        assert job_iteration_s(job, group) == max(group_s, own_s)


def with_overlaps(jobs: list[SubtaskTimes], overlaps: list[bool]) -> list[SubtaskTimes]:
    return [job._replace(overlaps=each) for job, each in zip(jobs, overlaps, strict=False)]


def test_a_job_that_overlaps_takes_the_longer_one_of_its_subtasks() -> None:
    job = SubtaskTimes(3, 2, gap_s=1, overlaps=True)
    assert group_iteration_s([job]) == 3
    assert (job.iteration_s, job_iteration_s(job, [job])) == (4, 4)
    assert utilisation_of([job]) == (1.0, pytest.approx(2 / 3))
    beside_a_long_one = [job, SubtaskTimes(5, 4)]
    assert (group_iteration_s(beside_a_long_one), bound_of(beside_a_long_one)) == (
        9,
        GroupBound.JOB,
    )


@given(JOBS, OUTSIDE, OVERLAPS)
def test_overlaps_never_lengthen_the_group_iteration_nor_beat_its_sums(
    jobs: list[SubtaskTimes], outside: list[int], overlaps: list[bool]
) -> None:
    plain = with_outside(jobs, outside)
    group_s = group_iteration_s(with_overlaps(plain, overlaps))
    sums_s = max(sum(job.cpu_s for job in plain), sum(job.comm_s for job in plain))
    assert sums_s <= group_s <= group_iteration_s(plain)
    if not any(overlaps[: len(jobs)]):
        assert group_s == group_iteration_s(plain)
    if all(overlaps[: len(jobs)]):
        assert group_s == sums_s


@given(JOBS, OVERLAPS, st.integers(0, 5))
def test_one_more_job_that_overlaps_never_lengthens_the_group_iteration(
    jobs: list[SubtaskTimes], overlaps: list[bool], chosen: int
) -> None:
    fewer = with_overlaps(jobs, overlaps)
    place = chosen % len(jobs)
    more = [*fewer[:place], fewer[place]._replace(overlaps=True), *fewer[place + 1 :]]
    assert group_iteration_s(more) <= group_iteration_s(fewer)
