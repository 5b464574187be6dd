"""Reports of iterations in, measurements of groups out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from motet.domain.decision import GroupMeasurement
from motet.domain.events import SubtasksMeasured
from motet.domain.snapshot import Placement
from motet.engine.journal.measured_groups import MeasuredGroups

ONE, TWO, OTHER = Placement((0,), (2,)), Placement((0, 1), (2, 2)), Placement((1,), (2,))
BOTH = frozenset({1, 2})


def took(
    job: int, comp_s: float, comm_s: float, iteration_s: float | None, machines: int = 1
) -> SubtasksMeasured:
    return SubtasksMeasured(job, machines, comp_s, comm_s, iteration_s)


def test_an_iteration_in_a_group_is_compared_with_one_without_waiting() -> None:
    groups = MeasuredGroups()
    groups.add(took(1, 6.0, 2.0, 10.0), ONE, BOTH)
    found = groups.add(took(2, 1.0, 4.0, 10.0), ONE, BOTH)
    # Job 1 would take 8 s and job 2 5 s: in 10 s they do the work of 13 s.
    assert found == GroupMeasurement(
        iteration_s=10.0,
        alone_s=5.0,
        is_alone_measured=False,
        work=pytest.approx(1.3),
        cpu=pytest.approx(0.7),
        network=pytest.approx(0.6),
        own_cpu=0.2,
        own_network=0.8,
        jobs=2,
    )


def test_a_job_that_overlaps_would_take_the_longer_one_of_its_subtasks_alone() -> None:
    groups = MeasuredGroups()
    groups.add(took(1, 6.0, 2.0, 10.0), ONE, BOTH)
    found = groups.add(replace(took(2, 1.0, 4.0, 10.0), overlaps=True), ONE, BOTH)
    assert found is not None
    assert (found.alone_s, found.work) == (4.0, pytest.approx(1.2))


def test_an_iteration_that_was_measured_alone_is_what_it_is_compared_with() -> None:
    groups = MeasuredGroups()
    assert groups.add(took(1, 6.0, 2.0, 9.0), ONE, frozenset({1})) is None
    assert groups.add(took(1, 6.0, 2.0, 12.0), ONE, BOTH) is None  # Also of the time alone.
    found = groups.add(took(1, 6.0, 2.0, 12.0), ONE, BOTH)
    assert found is not None
    assert (found.alone_s, found.is_alone_measured, found.work) == (9.0, True, 0.75)


def test_the_use_of_a_job_alone_has_the_steps_that_were_measured_alone() -> None:
    """COMM takes longer beside others: related to an iteration alone, it would exceed it."""
    groups = MeasuredGroups()
    groups.add(took(1, 1.0, 7.0, 10.0), ONE, frozenset({1}))
    groups.add(took(1, 1.0, 7.0, 10.0), ONE, BOTH)
    found = groups.add(took(1, 2.0, 26.0, 40.0), ONE, BOTH)
    assert found is not None
    assert (found.own_cpu, found.own_network) == (0.1, 0.7)


def test_what_was_measured_alone_on_fewer_machines_does_not_count_on_more() -> None:
    groups = MeasuredGroups()
    groups.add(took(1, 6.0, 2.0, 9.0), ONE, frozenset({1}))
    found = groups.add(took(1, 3.0, 2.0, 6.0, machines=2), TWO, BOTH)
    assert found is not None
    assert (found.alone_s, found.is_alone_measured) == (5.0, False)


def test_what_was_measured_alone_in_one_mode_does_not_count_in_the_other() -> None:
    """Else the change of the mode would count as what sharing gained."""
    groups = MeasuredGroups()
    groups.add(took(1, 6.0, 5.0, 11.0), ONE, frozenset({1}))
    found = groups.add(replace(took(1, 6.0, 5.0, 8.0), overlaps=True), OTHER, BOTH)
    assert found is not None
    assert (found.alone_s, found.is_alone_measured, found.work) == (6.0, False, 0.75)


def test_a_restart_in_the_other_mode_begins_other_means() -> None:
    groups = MeasuredGroups()
    groups.add(took(1, 6.0, 5.0, 12.0), ONE, BOTH)
    found = groups.add(replace(took(1, 6.0, 5.0, 8.0), overlaps=True), ONE, BOTH)
    assert found is not None
    assert (found.iteration_s, found.alone_s) == (8.0, 6.0)


def test_means_are_told_after_one_two_four_and_eight_reports() -> None:
    groups = MeasuredGroups()
    found = [groups.add(took(1, 1.0, 1.0, float(n)), ONE, BOTH) for n in range(1, 10)]
    told = {n: each.iteration_s for n, each in enumerate(found, start=1) if each is not None}
    assert told == {1: 1.0, 2: 1.5, 4: 2.5, 8: 4.5}


def test_only_jobs_that_were_measured_in_the_group_count() -> None:
    groups = MeasuredGroups()
    groups.add(took(2, 1.0, 4.0, 5.0), OTHER, frozenset({2}))  # Before it joined.
    found = groups.add(took(1, 6.0, 2.0, 10.0), ONE, BOTH)
    assert found is not None
    assert (found.jobs, found.work) == (1, 0.8)


def test_reports_without_the_time_of_an_iteration_tell_nothing() -> None:
    groups = MeasuredGroups()
    assert groups.add(took(1, 6.0, 2.0, None), ONE, BOTH) is None


def test_a_report_from_before_a_move_is_left_out() -> None:
    groups = MeasuredGroups()
    assert groups.add(took(1, 6.0, 2.0, 10.0, machines=2), ONE, BOTH) is None
