"""The baselines at a decision."""

from __future__ import annotations

import numpy as np

from motet.harmony.problem import JobCosts, JobGroup
from motet.harmony.schedule.apart import isolated_schedule, naive_schedule
from motet.harmony.schedule.held_groups import HeldGroup, Scene


def scene_of(
    memory: list[float], held: tuple[HeldGroup, ...] = (), machines: int = 6, limit: float = 10.0
) -> Scene:
    jobs = len(memory)
    known = np.ones(jobs, dtype=np.bool_)
    costs = JobCosts(
        np.full(jobs, 8.0),
        np.zeros(jobs),
        np.full(jobs, 2.0),
        np.array(memory),
        *np.zeros((2, jobs)),
    )
    order = tuple(range(jobs))
    return Scene(costs, order, known, known, held, tuple(range(machines)), limit)


def test_isolated_jobs_start_in_order_of_submission_while_their_memory_fits() -> None:
    plan = isolated_schedule(scene_of([30.0, 25.0, 5.0, 5.0]))
    assert plan.groups == (JobGroup((0,), 3), JobGroup((1,), 3))


def test_isolated_jobs_that_run_go_first_and_share_out_the_rest() -> None:
    plan = isolated_schedule(scene_of([30.0, 35.0, 5.0], (HeldGroup((1,), (0, 1, 2, 3)),)))
    assert plan.groups == (JobGroup((1,), 4), JobGroup((2,), 2))


def test_naive_jobs_are_dealt_to_the_smallest_groups_with_memory() -> None:
    plan = naive_schedule(scene_of([5.0] * 5), 2, [4, 3, 2, 1, 0])
    assert plan.groups == (JobGroup((0, 2, 4), 3), JobGroup((1, 3), 3))
    plan = naive_schedule(scene_of([28.0, 28.0, 2.0, 28.0]), 2, [0, 1, 2, 3])
    assert plan.groups == (JobGroup((0, 2), 3), JobGroup((1,), 3))


def test_naive_jobs_that_fit_into_no_such_group_run_in_a_larger_one() -> None:
    plan = naive_schedule(scene_of([50.0, 50.0]), 2, [0, 1])
    assert plan.groups == (JobGroup((0,), 6),)


def test_naive_jobs_that_run_stay_where_they_are() -> None:
    held = (HeldGroup((0, 1), (0, 1, 2)), HeldGroup((2,), (3, 4, 5)))
    plan = naive_schedule(scene_of([5.0] * 4, held), 2, [3, 2, 1, 0])
    assert plan.groups == (JobGroup((0, 1), 3), JobGroup((2, 3), 3))
