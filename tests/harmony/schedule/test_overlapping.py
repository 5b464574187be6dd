"""How jobs train changes when they start, and only then."""

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


def test_a_job_that_keeps_its_machines_goes_on_as_it_is() -> None:
    held = (HeldGroup((0,), (0,)), HeldGroup((1,), (1,)), HeldGroup((2,), (0, 1, 2)))
    before = np.array([True, False, False])
    assert found(scene(held), before=before) == [True, False, True]


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
