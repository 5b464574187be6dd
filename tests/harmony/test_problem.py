"""Problems and groupings: what is idle, what fits, what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from motet.domain.errors import BadInput
from motet.estimate.colocation.group_time import SubtaskTimes
from motet.estimate.colocation.subtask_profile import SubtaskProfile
from motet.harmony.problem import (
    OUTSIDE,
    Grouping,
    GroupingProblem,
    JobGroup,
    grouping_of,
    machine_worth,
    work_column,
)

PROFILES = [SubtaskProfile.of(4, 3.0, 1.0), SubtaskProfile.of(2, 2.0, 3.0)]


def test_costs_follow_the_profiles() -> None:
    problem = GroupingProblem.of(PROFILES, 4)
    assert problem.times(0, 4) == SubtaskTimes(3.0, 1.0)
    assert problem.times(1, 4) == SubtaskTimes(1.0, 3.0)
    outside = GroupingProblem.of([SubtaskProfile.of(4, 3.0, 1.0, 0.5)], 4)
    assert outside.times(0, 2) == SubtaskTimes(6.0, 1.0, 0.5)


def test_comm_grows_with_the_machines_whose_servers_are_elsewhere() -> None:
    """4 s of a model of which a machine's own server has 1 / m."""
    problem = GroupingProblem.of(PROFILES[:1], 4)
    local = np.array([4.0])
    growing = replace(problem, costs=problem.costs._replace(comm_s=local, local_s=local))
    assert [growing.times(0, machines).comm_s for machines in (1, 2, 4)] == [0.0, 2.0, 3.0]
    assert growing.part([0], 2).times(0, 2).comm_s == 2.0
    work_s = work_column(growing.costs, 4, problem.machine_memory_bytes, 0.5)
    assert work_s.tolist() == [0.5 * 12.0 + 0.5 * 0.0]


def test_the_gap_of_a_job_delays_its_group_if_nothing_takes_longer() -> None:
    """COMP 3 + 1 and COMM 1 + 3 on four machines: 4 s; the second job alone: 1 + 3 and its gap."""
    problem = GroupingProblem.of(PROFILES, 4)
    both = Grouping((JobGroup((0, 1), 4),))
    scores = []
    for gap_s in (0.0, 1.0):
        gaps = problem.costs._replace(gap_s=np.array([0.0, gap_s]))
        scores.append(replace(problem, costs=gaps).score(both))
    assert scores == pytest.approx([1.0, 4 / 5])
    known = replace(problem, costs=gaps)
    assert known.times(1, 4) == SubtaskTimes(1.0, 3.0, 0.0, 1.0)
    assert known.part([1], 2).times(0, 2).gap_s == 1.0


def test_a_job_that_overlaps_takes_the_longer_one_of_its_subtasks_alone() -> None:
    problem = GroupingProblem.of(PROFILES, 4)
    overlapping = problem.costs._replace(overlaps=np.array([1.0, 0.0]))
    known = replace(problem, costs=overlapping)
    assert known.times(0, 4).iteration_s == 3.0
    assert known.part([1, 0], 2).times(1, 4).iteration_s == 3.0
    alone = Grouping((JobGroup((0,), 4),))
    assert known.score(alone) == pytest.approx(problem.score(alone) * 4 / 3)


def test_idle_machines_count_as_not_used() -> None:
    problem = GroupingProblem.of(PROFILES, 8)
    grouping = Grouping((JobGroup((0, 1), 4),))
    assert problem.utilisation(grouping) == (0.5, 0.5)
    assert problem.score(grouping) == pytest.approx(0.5)


def test_a_job_on_more_machines_than_it_needs_uses_the_network_more_and_does_no_more_work() -> None:
    """COMP 1, COMM 3 on four machines: on one it has 4 and 3, an iteration takes 4 or 7 s."""
    problem = GroupingProblem.of([PROFILES[1]], 4)
    work_s = work_column(problem.costs, 4, problem.machine_memory_bytes, 0.5)
    assert work_s.tolist() == [0.5 * 4.0 + 0.5 * 3.0]
    working = replace(problem, costs=problem.costs._replace(work_s=work_s))
    one, all_ = (Grouping((JobGroup((0,), machines),)) for machines in (1, 4))
    assert working.score(one) == pytest.approx(3.5 / 7.0 / 4)
    assert working.score(all_) == pytest.approx(3.5 / 4.0 / 4)
    assert problem.score(all_) / problem.score(one) > 3


def test_work_counts_communication_on_the_machines_that_memory_needs() -> None:
    problem = GroupingProblem.of(PROFILES, 4, memory_bytes=[60.0, 999.0], machine_memory_bytes=30.0)
    work_s = work_column(problem.costs, 4, 30.0, 0.5)
    assert work_s.tolist() == [0.5 * 12.0 + 0.5 * 2 * 1.0, 0.5 * 4.0 + 0.5 * 4 * 3.0]


def test_a_group_that_has_outgrown_the_memory_of_its_machines_is_worth_no_more_than_they_are() -> (
    None
):
    """Two jobs that need three machines each, together on one."""
    profile = SubtaskProfile.of(1, 1.0, 10.0)
    problem = GroupingProblem.of([profile] * 2, 10, memory_bytes=[30.0, 30.0])
    work_s = work_column(problem.costs, 10, 10.0, 0.5)
    working = replace(problem, costs=problem.costs._replace(work_s=work_s))
    both = JobGroup((0, 1), 1)
    assert work_s.sum() / 20.0 > 1
    assert working.worth(both) == 1.0
    assert machine_worth(2.0, 20.0, 11.0, 1, 0.5, float(work_s.sum())) == 1.0


def test_what_each_machine_of_a_group_needs_counts_on_all_of_them() -> None:
    problem = GroupingProblem.of(PROFILES, 4, memory_bytes=[20.0, 0.0], machine_memory_bytes=30.0)
    costs = problem.costs._replace(fixed_bytes=np.array([15.0, 8.0]))
    problem = replace(problem, costs=costs)
    fits = [problem.fits(Grouping((JobGroup((0, 1), count),))) for count in (1, 2, 3)]
    assert fits == [False, False, True]
    assert [costs.least_machines(job, 30.0) for job in (0, 1)] == [2, 1]
    assert costs.least_machines(0, 15.0) == float("inf")


def test_a_group_fits_if_all_its_machines_hold_its_memory() -> None:
    problem = GroupingProblem.of(PROFILES, 4, memory_bytes=[60.0, 40.0], machine_memory_bytes=30.0)
    assert problem.fits(Grouping((JobGroup((0, 1), 4),)))
    assert not problem.fits(Grouping((JobGroup((0, 1), 3),)))
    assert not problem.fits(Grouping((JobGroup((0,), 3), JobGroup((1,), 2))))


def test_groups_without_jobs_are_left_out() -> None:
    grouping = grouping_of([0, OUTSIDE, 2, 0], [3, 1, 2])
    assert grouping == Grouping((JobGroup((0, 3), 3), JobGroup((2,), 2)))
    assert (grouping.jobs, grouping.machines) == ((0, 2, 3), 5)


def test_rows_select_jobs() -> None:
    costs = GroupingProblem.of(PROFILES, 4).costs.rows([1])
    assert costs.comm_s.tolist() == [3.0]
    assert np.array_equal(costs.divided_s, [4.0])


def test_problems_without_meaning_are_refused() -> None:
    with pytest.raises(BadInput, match="machines=0: groups need at least 1"):
        GroupingProblem.of(PROFILES, 0)
    with pytest.raises(BadInput, match=r"cpu_weight=0\.4: must be from 0\.5 to 1"):
        GroupingProblem.of(PROFILES, 4, cpu_weight=0.4)
