"""Harmony's groups at a decision, from first profiles to repairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from motet.estimate.colocation.group_time import SubtaskTimes
from motet.harmony.problem import JobCosts, JobGroup
from motet.harmony.schedule.held_groups import GroupPlan, HeldGroup, Scene
from motet.harmony.schedule.interleaved import interleaved_schedule
from motet.harmony.search import best_grouping

COMPUTES, SENDS = (12.0, 1.0), (4.0, 6.0)


def plan_of(
    times: Sequence[tuple[float, float] | None],
    held: tuple[HeldGroup, ...] = (),
    *,
    settled: Sequence[int] = (),
    machines: int = 2,
    memory: Sequence[float] | None = None,
) -> GroupPlan:
    """`times`: COMP on one machine and COMM; None: no profile yet."""
    known = np.array([each is not None for each in times])
    comp_s = np.array([each[0] if each else 0.0 for each in times])
    comm_s = np.array([each[1] if each else 0.0 for each in times])
    needed = np.array(memory or [0.0] * len(times), dtype=float)
    is_settled = np.zeros(len(times), dtype=np.bool_)
    is_settled[list(settled)] = True
    costs = JobCosts(comp_s, np.zeros(len(times)), comm_s, needed, *np.zeros((2, len(times))))
    order = tuple(range(len(times)))
    scene = Scene(costs, order, known, is_settled, held, tuple(range(machines)), 10.0)
    return interleaved_schedule(scene, best_grouping, best_grouping)


def test_the_first_jobs_run_on_as_few_machines_as_their_memory_allows() -> None:
    plan = plan_of([None, None], machines=5, memory=[25.0, 4.0])
    assert sorted(plan.groups) == [JobGroup((0,), 3), JobGroup((1,), 1)]
    assert not plan.is_settled.any()


def test_measured_jobs_go_on_until_all_that_started_are_measured() -> None:
    held = (HeldGroup((0,), (0,)), HeldGroup((1,), (1,)))
    plan = plan_of([COMPUTES, None], held)
    assert {*plan.groups} == {JobGroup((0,), 1), JobGroup((1,), 1)}
    assert not plan.is_settled.any()
    plan = plan_of([COMPUTES, SENDS], held)
    assert plan.groups == (JobGroup((0, 1), 2),)
    assert plan.is_settled.all()


def test_a_job_that_arrives_later_is_measured_beside_others() -> None:
    plan = plan_of([COMPUTES, SENDS, None], (HeldGroup((0, 1), (0, 1)),), settled=[0, 1])
    assert plan.groups == (JobGroup((0, 1, 2), 2),)
    assert plan.is_settled.tolist() == [True, True, False]


def test_a_measured_job_stays_only_if_the_use_rises() -> None:
    held = (HeldGroup((0, 1), (0, 1)),)
    plan = plan_of([COMPUTES, SENDS, (12.0, 0.1)], held, settled=[0, 1])
    assert plan.groups == (JobGroup((0, 1), 2),)
    plan = plan_of([COMPUTES, SENDS], held, settled=[0])
    assert plan.groups == (JobGroup((0, 1), 2),)


def test_a_similar_waiting_job_replaces_one_that_ended() -> None:
    """The one that ended took 2 s and 6 s on two machines."""
    held = (HeldGroup((0,), (0, 1), SubtaskTimes(2.0, 6.0)),)
    plan = plan_of([COMPUTES, (30.0, 3.0), (4.1, 6.0)], held, settled=[0, 1, 2])
    assert plan.groups == (JobGroup((0, 2), 2),)


def test_idle_machines_go_to_waiting_jobs_although_little_is_gained() -> None:
    held = (HeldGroup((0, 1), tuple(range(29))),)
    plan = plan_of([(300.0, 10.0), (10.0, 9.0), (5.0, 5.0)], held, settled=[0, 1, 2], machines=30)
    assert 2 in {job for group in plan.groups for job in group.jobs}


def test_some_job_runs_even_if_memory_keeps_the_search_from_grouping_any() -> None:
    plan = plan_of([COMPUTES, SENDS], settled=[0, 1], memory=[30.0, 15.0])
    assert plan.groups == (JobGroup((1,), 2),)
