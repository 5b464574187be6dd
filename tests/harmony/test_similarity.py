"""Similar jobs and sets of jobs: the limits of 5 %, the best match, memory, exhaustive search."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from motet.estimate.colocation.group_time import SubtaskTimes
from motet.harmony.problem import GroupingProblem, JobCosts, JobGroup
from motet.harmony.similarity import SIMILAR, best_match, distance, matching_set


def problem_of(*times: tuple[float, float], memory: list[float] | None = None) -> GroupingProblem:
    """Jobs by (COMP, COMM) seconds on one machine; a machine has 10 bytes."""
    comp_s, comm_s = np.array(times, dtype=float).T.copy()
    none = np.zeros(len(times))
    needed = none if memory is None else np.array(memory, float)
    return GroupingProblem(JobCosts(comp_s, none, comm_s, needed, none, none), 1, 10.0)


def test_the_distance_is_the_larger_of_both_differences() -> None:
    reference = SubtaskTimes(6.0, 4.0)
    assert distance(reference, SubtaskTimes(6.6, 4.4)) == pytest.approx(0.1)
    assert distance(reference, SubtaskTimes(7.0, 3.0)) == pytest.approx(7 / 3 / 1.5 - 1)


def test_a_job_without_communication_is_similar_only_to_its_like() -> None:
    assert distance(SubtaskTimes(6.0, 0.0), SubtaskTimes(6.3, 0.0)) == pytest.approx(0.05)
    assert distance(SubtaskTimes(6.0, 0.0), SubtaskTimes(6.0, 0.1)) == np.inf


def test_the_most_similar_job_replaces_one_that_ended() -> None:
    problem = problem_of((6, 4), (6.2, 4.1), (6.1, 4.05), (6, 5))
    assert best_match(problem, JobGroup((0,), 1), 0, [3, 1, 2]) == (2,)
    assert best_match(problem, JobGroup((0,), 1), 0, [3]) == ()
    assert best_match(problem, JobGroup((0,), 1), 0, []) == ()


def test_a_similar_job_must_fit_into_memory_beside_the_others() -> None:
    problem = problem_of((6, 4), (1, 1), (6, 4), (6.1, 4), memory=[3, 6, 5, 4])
    assert best_match(problem, JobGroup((0, 1), 1), 0, [2, 3]) == (3,)


def test_several_short_jobs_replace_a_long_one() -> None:
    problem = problem_of((9, 3), (4, 2), (5, 1), (3, 1), (3, 1), (3, 1))
    assert set(matching_set(problem, JobGroup((0,), 1), 0, [1, 2, 3])) == {1, 2}
    assert set(matching_set(problem, JobGroup((0,), 1), 0, [1, 3, 4, 5])) == {3, 4, 5}
    assert matching_set(problem, JobGroup((0,), 1), 0, [1, 3]) == ()


@pytest.mark.parametrize("seed", range(40))
def test_a_set_is_found_exactly_where_there_is_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    times = [(10.0, 5.0), *np.exp(rng.normal([1.2, 0.6], 0.6, (8, 2))).tolist()]
    problem, group, waiting = problem_of(*times), JobGroup((0,), 1), list(range(1, 9))
    similar = [
        chosen
        for size in range(2, 9)
        for chosen in combinations(waiting, size)
        if distance(SubtaskTimes(10.0, 5.0), total_of(times, chosen)) <= SIMILAR
    ]
    found = tuple(sorted(matching_set(problem, group, 0, waiting)))
    assert (found in similar) if similar else found == ()
    assert len(found) == (len(similar[0]) if similar else 0)


def total_of(times: list[tuple[float, float]], chosen: tuple[int, ...]) -> SubtaskTimes:
    return SubtaskTimes(*(sum(times[job][kind] for job in chosen) for kind in (0, 1)))
