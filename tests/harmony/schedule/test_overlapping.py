"""How jobs train changes when they start, for which those that stay may start again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from grouping_cases import random_problem
from motet.domain.arrays import Bools
from motet.harmony.problem import JobCosts, JobGroup
from motet.harmony.schedule.held_groups import HeldGroup, Scene
from motet.harmony.schedule.overlapping import asynchronous_jobs

ALL = np.ones(3, np.bool_)
NONE = np.zeros(3, np.bool_)
GROUPS = (JobGroup((0,), 1), JobGroup((1,), 1), JobGroup((2,), 1))
PLACES = [(0,), (1,), (2,)]


def scene(held: tuple[HeldGroup, ...] = (), profiled: Bools = ALL) -> Scene:
    """Three jobs that would gain from asynchronous training alone."""
    costs: JobCosts = random_problem(1, 3, 3).costs
    balanced = costs._replace(divided_s=costs.comm_s, constant_s=0 * costs.comm_s)
    return Scene(balanced, (0, 1, 2), profiled, profiled, held, (0, 1, 2))


def found(known: Scene, permitted: Bools = ALL, before: Bools = NONE) -> list[bool]:
    return asynchronous_jobs(known, GROUPS, PLACES, permitted, before, 0.9).tolist()


def test_jobs_that_start_are_switched_if_their_users_permit_it() -> None:
    assert found(scene()) == [True, True, True]
    assert found(scene(), np.array([True, False, True])) == [True, False, True]


HELD = (HeldGroup((0,), (0,)), HeldGroup((1,), (1,)), HeldGroup((2,), (0, 1, 2)))


def with_ends(seconds_left: float, move_s: float) -> Scene:
    """The last of the jobs moves, the others keep their machines."""
    return replace(scene(HELD), seconds_left=np.full(3, seconds_left), move_s=move_s)


def test_a_job_that_keeps_its_machines_changes_if_that_gains_more_than_a_start() -> None:
    """Asynchronously 1.8 times the work: in 100 s what 80 s of a start miss."""
    before = np.array([True, False, False])
    assert found(with_ends(100.0, 81.0), before=before) == [True, False, True]
    assert found(with_ends(100.0, 79.0), before=before) == [True, True, True]


def test_a_job_that_keeps_its_machines_changes_where_the_end_or_the_cost_is_unknown() -> None:
    for known in (scene(HELD), with_ends(np.nan, 1e9), with_ends(-1.0, 1e9), with_ends(1.0, 0.0)):
        assert found(known) == [True, True, True]


def beside_another(
    seconds_left: tuple[float, float], comm_s: float, efficiency: float = 0.9
) -> list[bool]:
    """COMP and COMM of 5 s of a job that is asynchronous, on a machine with COMP of 1 s and
    `comm_s` of another one; a start takes 10 s."""
    costs = random_problem(1, 2, 1).costs
    costs = costs._replace(divided_s=np.array([5.0, 1.0]), constant_s=np.zeros(2))
    costs = costs._replace(comm_s=np.array([5.0, comm_s]))
    left_s = np.array(seconds_left)
    held, both = (HeldGroup((0, 1), (0,)),), np.ones(2, np.bool_)
    known = Scene(costs, (0, 1), both, both, held, (0,), seconds_left=left_s, move_s=10.0)
    before = np.array([True, False])
    groups, places = (JobGroup((0, 1), 1),), [(0,)]
    return asynchronous_jobs(known, groups, places, both, before, efficiency).tolist()


def test_a_job_whose_gaps_others_fill_trains_synchronously_again() -> None:
    assert beside_another((1e6, 1e6), 5.0) == [False, False]
    assert beside_another((1e6, 1e6), 1.0) == [True, False]


def test_what_a_change_gains_ends_with_the_first_job_of_the_group() -> None:
    """14.5 instead of 16 s of work in 10 s, of which the start misses nine parts of 14.5."""
    assert beside_another((1e6, 50.0), 5.0) == [True, False]
    assert beside_another((1e6, 200.0), 5.0) == [False, False]


def test_a_change_takes_five_percent_more_work() -> None:
    assert beside_another((1e6, 1e6), 5.0, efficiency=0.95) == [True, False]


def test_without_an_efficiency_jobs_go_on_as_they_are() -> None:
    assert beside_another((1e6, 1e6), 5.0, efficiency=0.0) == [True, False]


def test_beside_a_job_that_is_not_measured_none_is_switched() -> None:
    together = (JobGroup((0, 1), 2), JobGroup((2,), 1))
    profiled = np.array([True, False, True])
    places = [(0, 1), (2,)]
    chosen = asynchronous_jobs(scene(profiled=profiled), together, places, ALL, NONE, 0.9)
    assert chosen.tolist() == [False, False, True]


def test_a_scene_counts_jobs_that_overlap_in_addition() -> None:
    known = scene()
    assert known.overlapping(NONE) is known
    first = replace(known, costs=known.costs._replace(overlaps=np.array([1.0, 0.0, 0.0])))
    more = first.overlapping(np.array([False, True, False]))
    assert more.costs.overlaps.tolist() == [1.0, 1.0, 0.0]
