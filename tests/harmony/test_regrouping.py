"""Arrivals and ends: who joins, who waits, who replaces, and how much is grouped anew."""

from __future__ import annotations

import numpy as np
import pytest

from grouping_cases import counting_work, random_problem
from motet.harmony.prefixes import paper_grouping
from motet.harmony.problem import Grouping, GroupingProblem, JobCosts, JobGroup
from motet.harmony.regrouping import (
    LEAST_BENEFIT,
    RegroupReason,
    Search,
    after_arrival,
    after_end,
    after_release,
    most_worth,
    regroup_part,
)
from motet.harmony.search import best_grouping, quick_grouping


def problem_of(*times: tuple[float, float], machines: int) -> GroupingProblem:
    """Jobs by (COMP, COMM) seconds on two machines."""
    comp_s, comm_s = np.array(times, dtype=float).T.copy()
    none = np.zeros(len(times))
    return GroupingProblem(JobCosts(2 * comp_s, none, comm_s, none, none, none), machines)


TWO_GROUPS = Grouping((JobGroup((0,), 2), JobGroup((1,), 2)))


def test_a_job_that_arrives_joins_the_group_that_it_complements() -> None:
    problem = problem_of((3, 1), (1, 3), (1, 3), machines=4)
    found = after_arrival(problem, TWO_GROUPS, 2, waiting=[])
    assert found.reason is RegroupReason.JOINED
    assert found.grouping == Grouping((JobGroup((0, 2), 2), JobGroup((1,), 2)))
    assert found.score == pytest.approx(problem.score(found.grouping))


def test_a_job_that_raises_no_utilisation_waits() -> None:
    problem = problem_of((2, 2), (2, 2), (0.1, 90), machines=4)
    balanced = Grouping((JobGroup((0, 1), 4),))
    found = after_arrival(problem, balanced, 2, waiting=[])
    assert (found.reason, found.grouping) == (RegroupReason.WAITS, balanced)


def test_a_job_waits_while_others_wait() -> None:
    problem = problem_of((3, 1), (1, 3), (1, 3), (2, 2), machines=4)
    assert after_arrival(problem, TWO_GROUPS, 2, waiting=[3]).grouping == TWO_GROUPS


def test_the_first_job_gets_the_empty_cluster_and_a_later_one_idle_machines() -> None:
    problem = problem_of((3, 1), (3, 1), machines=4)
    assert after_arrival(problem, Grouping(), 0, []).grouping == Grouping((JobGroup((0,), 4),))
    half = Grouping((JobGroup((0,), 2),))
    assert after_arrival(problem, half, 1, []).grouping == TWO_GROUPS


def test_a_similar_job_replaces_one_that_ended() -> None:
    problem = problem_of((3, 1), (1, 3), (2, 2), (3.1, 1), machines=4)
    found = after_end(problem, TWO_GROUPS, 0, waiting=[2, 3])
    assert found.reason is RegroupReason.REPLACED
    assert found.grouping == Grouping((JobGroup((3,), 2), JobGroup((1,), 2)))


def test_several_jobs_replace_one_that_none_resembles() -> None:
    problem = problem_of((3, 1), (1, 3), (1.5, 0.5), (1.5, 0.5), machines=4)
    found = after_end(problem, TWO_GROUPS, 0, waiting=[2, 3])
    assert found.reason is RegroupReason.REPLACED_BY_SET
    assert found.grouping == Grouping((JobGroup((2, 3), 2), JobGroup((1,), 2)))


def test_machines_of_an_ended_job_go_to_other_groups() -> None:
    problem = problem_of((3, 1), (1, 3), machines=4)
    found = after_end(problem, TWO_GROUPS, 0, waiting=[])
    assert found.reason is RegroupReason.REGROUPED
    assert found.grouping.jobs == (1,)
    assert found.score > problem.score(Grouping((JobGroup((1,), 2),))) * (1 + LEAST_BENEFIT)


def test_groups_stay_where_less_than_five_percent_would_be_gained() -> None:
    """The third job of a group that remains nearly balanced ends; no other job waits."""
    problem = problem_of((3, 1), (1, 3), (0.1, 0.1), machines=4)
    found = after_end(problem, Grouping((JobGroup((0, 1, 2), 4),)), 2, waiting=[])
    assert (found.reason, found.grouping.jobs) == (RegroupReason.KEPT, (0, 1))


def test_idle_machines_go_to_waiting_jobs_and_no_running_job_moves() -> None:
    problem = random_problem(0, 6, 30, balanced_machines=5)
    present = Grouping((JobGroup((0, 1), 29),))
    found = after_release(problem, present, [2, 3, 4, 5])
    assert problem.fits(found.grouping)
    assert problem.score(found.grouping) > problem.score(present)
    assert present.groups[0] in found.grouping.groups or found.reason is RegroupReason.REGROUPED


def test_the_last_job_leaves_no_groups() -> None:
    problem = problem_of((3, 1), machines=4)
    found = after_end(problem, Grouping((JobGroup((0,), 4),)), 0, waiting=[])
    assert (found.grouping, found.score) == (Grouping(), 0.0)


def test_a_part_is_grouped_on_its_own_machines() -> None:
    problem = random_problem(3, 12, 20)
    part = regroup_part(problem, [7, 3, 9], 5, best_grouping)
    assert set(part.jobs) <= {3, 7, 9}
    assert part.machines <= 5


@pytest.mark.parametrize("with_overlaps", [False, True])
@pytest.mark.parametrize("with_outside", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_no_groups_are_worth_more_than_the_bound(
    seed: int, with_outside: bool, with_overlaps: bool
) -> None:
    jobs, machines = 2 + seed % 7, 1 + seed % 9
    chosen = {"with_outside": with_outside, "with_overlaps": with_overlaps}
    problem = counting_work(random_problem(seed, jobs, machines, **chosen))
    found = best_grouping(problem)
    worth = problem.score(found) * machines
    assert worth <= most_worth(problem, range(jobs), machines) * (1 + 1e-9)


def test_few_groups_are_searched_where_jobs_gain_nothing_from_machines() -> None:
    """100 jobs alone on machines of their own; an end leaves idle ones."""
    problem = counting_work(problem_of(*([(0.5, 30.0)] * 100), machines=300))
    searches = list[int]()

    def counted(part: GroupingProblem) -> Grouping:
        searches.append(len(part))
        return quick_grouping(part)

    present = Grouping(tuple(JobGroup((job,), 2) for job in range(100)))
    assert after_end(problem, present, 0, [], counted).reason is RegroupReason.KEPT
    assert not searches
    mixed = counting_work(random_problem(0, 100, 400, balanced_machines=5.0))
    after_end(mixed, Grouping(tuple(JobGroup((job,), 4) for job in range(100))), 0, [], counted)
    assert len(searches) < 100 + 10


@pytest.mark.parametrize("search", [best_grouping, paper_grouping])
@pytest.mark.parametrize("seed", range(6))
def test_any_order_of_arrivals_and_ends_keeps_groups_valid(seed: int, search: Search) -> None:
    """Groups fit, no job is in two of them, a kept or raised U is as reported."""
    rng = np.random.default_rng([seed, 9])
    problem = random_problem(seed, 14, 12, with_memory=seed % 2 == 1)
    grouping, waiting, ended = Grouping(), list[int](), set[int]()
    for job in range(14):
        found = after_arrival(problem, grouping, job, waiting, search)
        check(problem, found.grouping, found.score, ended)
        grouping = found.grouping
        waiting = [each for each in (*waiting, job) if each not in grouping.jobs]
        if grouping.jobs and rng.random() < 0.6:
            gone = int(rng.choice(grouping.jobs))
            found = after_end(problem, grouping, gone, waiting, search)
            ended.add(gone)
            check(problem, found.grouping, found.score, ended)
            pool = {*waiting, *grouping.jobs} - {gone}
            grouping = found.grouping
            waiting = sorted(pool - set(grouping.jobs))


def check(problem: GroupingProblem, grouping: Grouping, score: float, ended: set[int]) -> None:
    assert problem.fits(grouping)
    assert len(set(grouping.jobs)) == len(grouping.jobs)
    assert not ended & set(grouping.jobs)
    assert score == pytest.approx(problem.score(grouping))
