"""The use of the machines with one more job."""

from __future__ import annotations

import numpy as np
import pytest

from motet.harmony.problem import Grouping, JobCosts, JobGroup
from motet.harmony.schedule.held_groups import Scene
from motet.harmony.schedule.use_with_job import uses_with_jobs


def test_each_waiting_job_is_told_with_the_use_in_its_best_group() -> None:
    rng = np.random.default_rng(0)
    costs = JobCosts(
        rng.uniform(1, 50, 8), np.zeros(8), rng.uniform(1, 9, 8), np.full(8, 4.0), *np.zeros((2, 8))
    )
    known = np.array([True] * 7 + [False])
    scene = Scene(costs, tuple(range(8)), known, known, (), tuple(range(7)), 6.0)
    groups = (JobGroup((0, 1), 4), JobGroup((2,), 2))
    problem = scene.problem(7)
    present, found = uses_with_jobs(scene, groups)
    assert present == pytest.approx(problem.score(Grouping(groups)))
    assert np.isnan(found[[0, 1, 2, 7]]).all()
    for job in range(3, 7):
        options = [
            Grouping((JobGroup((0, 1, job), 4), groups[1])),
            Grouping((groups[0], JobGroup((2, job), 2))),
        ]
        assert found[job] == pytest.approx(max(problem.score(each) for each in options))


def test_a_job_for_which_no_group_has_memory_has_no_use() -> None:
    costs = JobCosts(np.ones(2), np.zeros(2), np.ones(2), np.array([5.0, 9.0]), *np.zeros((2, 2)))
    known = np.ones(2, dtype=np.bool_)
    scene = Scene(costs, (0, 1), known, known, (), (0,), 10.0)
    assert np.isnan(uses_with_jobs(scene, (JobGroup((0,), 1),))[1]).all()
