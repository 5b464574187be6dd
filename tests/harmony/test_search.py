"""The default search against the best grouping of all, and against Algorithm 1 on larger cases."""

from __future__ import annotations

import numpy as np
import pytest

from grouping_cases import counting_work, random_problem, random_shape
from grouping_oracle import best_score
from motet.harmony.exact import exact_grouping
from motet.harmony.prefixes import paper_grouping
from motet.harmony.problem import Grouping, GroupingProblem
from motet.harmony.search import TOLERANCE, best_grouping, heuristic_grouping
from soak_cases import others_in_soak

CASES = 200


def small_problem(
    seed: int, most_jobs: int = 8, most_machines: int = 8, **with_times: bool
) -> GroupingProblem:
    shape = random_shape(seed, most_jobs, most_machines)
    chosen = {"with_constant": seed % 2 == 1, "with_memory": seed % 4 == 3, **with_times}
    return random_problem(seed, *shape, **chosen)


def gaps(groupings: list[Grouping], problems: list[GroupingProblem]) -> np.ndarray:
    """Relative distances of U from the best grouping."""
    pairs = zip(groupings, problems, strict=True)
    return np.array([1 - p.score(each) / p.score(exact_grouping(p)) for each, p in pairs])


@pytest.fixture(scope="module")
def problems() -> list[GroupingProblem]:
    drawn = [small_problem(seed) for seed in range(CASES)]
    return [problem for problem in drawn if problem.score(exact_grouping(problem)) > 0]


@pytest.mark.parametrize("seed", range(40))
def test_the_exact_program_finds_the_best_of_all_groupings(seed: int) -> None:
    problem = small_problem(
        seed, most_jobs=5, most_machines=5, with_outside=seed >= 20, with_local=seed % 3 == 0
    )
    found = exact_grouping(problem)
    assert problem.fits(found)
    assert problem.score(found) == pytest.approx(best_score(problem))


def test_every_default_grouping_is_within_its_tolerance_of_the_best(
    problems: list[GroupingProblem],
) -> None:
    found = [best_grouping(problem) for problem in problems]
    assert all(problem.fits(each) for each, problem in zip(found, problems, strict=True))
    assert gaps(found, problems).max() <= TOLERANCE + 1e-9


@pytest.mark.soak
def test_the_search_for_many_jobs_is_near_the_best_for_few_ones(
    problems: list[GroupingProblem],
) -> None:
    off = gaps([heuristic_grouping(problem) for problem in problems], problems)
    assert off.min() > -1e-9
    assert np.quantile(off, 0.95) <= 0.01


@pytest.mark.parametrize(
    "with_times",
    others_in_soak(["with_outside", "with_local", "with_gaps", "with_overlaps"], ["with_overlaps"]),
)
def test_all_times_of_jobs_count_in_both_searches(with_times: str) -> None:
    """CPU time outside of COMP, COMM that grows with machines, gaps, COMM beside COMP."""
    drawn = [small_problem(seed, **{with_times: True}) for seed in range(0, CASES, 10)]
    for search in (best_grouping, heuristic_grouping):
        off = gaps([search(problem) for problem in drawn], drawn)
        assert off.min() > -1e-9
        assert np.quantile(off, 0.9) <= 0.01


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("with_times", ["with_gaps", "with_overlaps"])
def test_the_best_grouping_of_jobs_with_such_times_is_found_among_all(
    with_times: str, seed: int
) -> None:
    problem = small_problem(seed, most_jobs=5, most_machines=5, **{with_times: True})
    if seed % 2:
        problem = counting_work(problem)
    assert problem.score(exact_grouping(problem)) == pytest.approx(best_score(problem))


@pytest.mark.parametrize("seed", range(20))
def test_the_most_work_is_found_among_all_groupings(seed: int) -> None:
    problem = counting_work(small_problem(seed, most_jobs=5, most_machines=5, with_outside=True))
    assert problem.score(exact_grouping(problem)) == pytest.approx(best_score(problem))


def test_both_searches_find_groupings_that_do_about_the_most_work() -> None:
    drawn = [counting_work(small_problem(seed)) for seed in range(0, CASES, 10)]
    for search in (best_grouping, heuristic_grouping):
        off = gaps([search(problem) for problem in drawn], drawn)
        assert off.min() > -1e-9
        assert np.quantile(off, 0.9) <= 0.01


def test_algorithm_1_is_further_from_the_best(problems: list[GroupingProblem]) -> None:
    off = gaps([paper_grouping(problem) for problem in problems], problems)
    assert off.min() > -1e-9
    assert 0.03 < np.median(off) < 0.2


def test_of_groupings_that_count_as_equal_the_one_with_fewest_jobs_is_taken() -> None:
    problem = small_problem(8)
    few, best = best_grouping(problem), exact_grouping(problem)
    fewest = exact_grouping(problem, tolerance=0.5)
    assert len(fewest.jobs) <= len(few.jobs) <= len(best.jobs)
    assert problem.score(fewest) >= 0.5 * problem.score(best)


@pytest.mark.parametrize(
    ("jobs", "machines"), others_in_soak([(80, 100), (400, 500)], [(400, 500)])
)
def test_with_many_jobs_nearly_all_of_both_resources_is_used(jobs: int, machines: int) -> None:
    problem = random_problem(1, jobs, machines, balanced_machines=8.0)
    found = best_grouping(problem)
    assert problem.fits(found)
    assert found.machines == machines
    assert problem.score(found) > max(0.98, problem.score(paper_grouping(problem)))


def test_thousands_of_jobs_run_where_memory_is_short() -> None:
    """More than a machine for each job, by its memory alone."""
    problem = random_problem(1, 4_000, 5_000, balanced_machines=5.0, with_memory=True)
    found = best_grouping(problem)
    assert problem.fits(found)
    assert len(found.jobs) > 2_000
    assert problem.score(found) > 0.9


def test_memory_holds_for_many_jobs() -> None:
    problem = random_problem(2, 60, 80, balanced_machines=8.0, with_memory=True)
    found = best_grouping(problem)
    assert problem.fits(found)
    assert problem.score(found) > 0.8


def test_the_order_of_jobs_decides_only_ties() -> None:
    """The exact program considers all jobs alike."""
    problem = small_problem(5)
    turned = GroupingProblem(
        problem.costs.rows(range(len(problem))[::-1]),
        problem.machines,
        problem.machine_memory_bytes,
    )
    score = problem.score(best_grouping(problem))
    assert turned.score(best_grouping(turned)) == pytest.approx(score, rel=TOLERANCE)


def test_without_jobs_there_are_no_groups() -> None:
    assert best_grouping(random_problem(0, 0, 4)) == Grouping()
