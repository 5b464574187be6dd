"""Running jobs move only if that gains more work than they miss while they move."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grouping_cases import random_problem
from motet.harmony.problem import Grouping, GroupingProblem, JobGroup
from motet.harmony.schedule.chosen_machines import chosen_machines
from motet.harmony.schedule.held_groups import HeldGroup, Scene
from motet.harmony.schedule.interleaved import interleaved_schedule
from motet.harmony.schedule.moves import MoveCost
from motet.harmony.search import quick_grouping

JOBS, MACHINES = 9, 8


def held(grouping: Grouping) -> tuple[HeldGroup, ...]:
    """Machines in the order of the groups."""
    first, found = 0, []
    for group in grouping.groups:
        found.append(HeldGroup(group.jobs, tuple(range(first, first + group.machines))))
        first += group.machines
    return tuple(found)


def after_an_end(seed: int) -> Scene:
    """All jobs but one that has just ended; the others run in the groups that were found with it,
    or wait."""
    problem = random_problem(seed, JOBS, MACHINES)
    present = held(quick_grouping(problem))
    rng = np.random.default_rng(seed)
    gone = int(rng.choice([job for group in present for job in group.jobs]))
    rows = [job for job in range(JOBS) if job != gone]
    row_of = {job: row for row, job in enumerate(rows)}
    groups = []
    for group in present:
        stay = tuple(row_of[job] for job in group.jobs if job != gone)
        ended = problem.times(gone, len(group.machines)) if gone in group.jobs else None
        if stay:
            groups.append(HeldGroup(stay, group.machines, ended))
    known = np.ones(len(rows), dtype=np.bool_)
    order = tuple(range(len(rows)))
    costs = problem.costs.rows(rows)
    return Scene(costs, order, known, known, tuple(groups), tuple(range(MACHINES)))


def moved(scene: Scene) -> set[int]:
    """Running jobs that get other machines, or none."""
    groups = interleaved_schedule(scene, quick_grouping, quick_grouping).groups
    places = chosen_machines(groups, scene.held, scene.machines)
    after = {job: place for group, place in zip(groups, places, strict=True) for job in group.jobs}
    return {job for group in scene.held for job in group.jobs if after.get(job) != group.machines}


@given(st.integers(0, 10_000))
def test_no_running_job_moves_where_a_move_takes_longer_than_all_that_is_left(seed: int) -> None:
    """A move can at most raise the work of the machines from nothing to all of it."""
    scene = replace(after_an_end(seed), seconds_left=np.ones(JOBS - 1), move_s=1e9)
    assert not moved(scene)


@given(st.integers(0, 10_000))
def test_moves_are_those_of_the_source_where_jobs_run_on_for_long(seed: int) -> None:
    scene = after_an_end(seed)
    lasting = replace(scene, seconds_left=np.full(JOBS - 1, 1e12), move_s=1.0)
    assert moved(lasting) == moved(scene)


@given(st.integers(0, 10_000))
def test_jobs_without_a_known_end_move_as_in_the_source(seed: int) -> None:
    scene = after_an_end(seed)
    unknown = replace(scene, seconds_left=np.full(JOBS - 1, np.nan), move_s=1e9)
    assert moved(unknown) == moved(scene)


@pytest.mark.parametrize("left_s", [0.0, np.nan])
def test_one_unknown_end_is_enough_for_moves(left_s: float) -> None:
    """Also where the predicted end has passed."""
    scene = after_an_end(0)
    problem = scene.problem(MACHINES)
    kept = Grouping(tuple(JobGroup(each.jobs, len(each.machines)) for each in scene.held))
    none = Grouping(())

    def is_worth(seconds: np.ndarray) -> bool:
        return MoveCost(replace(scene, seconds_left=seconds, move_s=1e9)).is_worth(
            problem, kept, none
        )

    seconds = np.ones(JOBS - 1)
    assert not is_worth(seconds)
    seconds[scene.held[0].jobs[0]] = left_s
    assert is_worth(seconds)


def test_some_ends_move_jobs() -> None:
    """The properties above are of scenes in which the source moves jobs."""
    assert sum(bool(moved(after_an_end(seed))) for seed in range(30)) > 5


@pytest.mark.parametrize(("left_s", "is_worth"), [(29.0, False), (31.0, True)])
def test_gain_until_the_end_is_compared_with_the_work_that_is_missed(
    left_s: float, is_worth: bool
) -> None:
    """One job, of 2 s of COMP on one machine and 2 s of COMM, moves from one machine of three to
    all. By use with weights 0.7 and 0.3 it is worth 0.7 / 2 + 0.3 / 2 = 1/2 machine on one; on
    three COMP takes 2/3 s of 8/3 s: 3 (0.7 / 4 + 0.3 3 / 4) = 1.2 machines. It gains 0.7, and
    misses 1/2 for 42 s: 30 s are enough."""
    problem = _problem(comp_s=2.0, comm_s=2.0)
    kept, new = Grouping((JobGroup((0,), 1),)), Grouping((JobGroup((0,), 3),))
    known = np.ones(1, dtype=np.bool_)
    scene = Scene(problem.costs, (0,), known, known, held(kept), (0, 1, 2))
    cost = MoveCost(replace(scene, seconds_left=np.array([left_s]), move_s=42.0))
    assert cost.is_worth(problem, kept, new) == is_worth
    assert cost.is_worth(problem, kept, kept)


def _problem(comp_s: float, comm_s: float) -> GroupingProblem:
    problem = random_problem(0, 1, 3)
    none = np.zeros(1)
    costs = problem.costs._replace(
        divided_s=np.array([comp_s]),
        constant_s=none,
        comm_s=np.array([comm_s]),
        memory_bytes=none,
        fixed_bytes=none,
        outside_s=none,
    )
    return replace(problem, costs=costs)
