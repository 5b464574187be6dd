"""Measured COMP and COMM times as policies see them."""

from __future__ import annotations

import numpy as np
import pytest

from motet.domain.estimates import Overlap
from motet.domain.events import DataSizes
from motet.engine.measurements.job_measurements import Measurements
from motet.engine.state.table import ActiveTable
from motet.estimate.colocation.group_time import SubtaskTimes
from motet.estimate.colocation.memory_curve import MachineBytes

NAN = float("nan")


def table_of(*numbers: int) -> ActiveTable:
    table = ActiveTable({}, {"running_since_us": 0, "wait_code": 0})
    for number in numbers:
        table.add({"number": number, "gpus": 1})
    return table


def test_jobs_that_report_no_times_cost_no_columns() -> None:
    book = Measurements()
    book.arrived(1, planned_steps=5.0)
    assert book.estimates(table_of(1).jobs).subtasks is None


def test_a_job_has_a_row_before_and_after_it_is_measured() -> None:
    book = Measurements()
    for number, data in enumerate((None, DataSizes(70, 30), DataSizes(5, 0))):
        book.arrived(number, data=data)
    book.took(1, 4, SubtaskTimes(3.0, 2.0, 0.5))
    book.took(0, 4, SubtaskTimes(3.0, 2.0))
    seen = book.estimates(table_of(2, 0, 1).jobs).subtasks
    assert seen is not None
    assert seen.are_reported.tolist() == [True, False, True]
    assert seen.is_measured.tolist() == [False, False, True]
    np.testing.assert_array_equal(seen.input_bytes, [5, NAN, 70])
    np.testing.assert_array_equal(seen.model_bytes, [0, NAN, 30])
    assert seen.machine_bytes.tolist() == [0.0, 0.0, 0.0]
    assert seen.divided_s[2] == pytest.approx(12.0)
    assert (seen.constant_s[2], seen.comm_s[2], seen.outside_s[2]) == (0.0, 2.0, 0.5)
    with pytest.raises(ValueError, match="read-only"):
        seen.comm_s[0] = 1.0


def test_measured_memory_takes_the_place_of_what_was_declared() -> None:
    book = Measurements()
    book.arrived(1, data=DataSizes(70, 30))
    jobs = table_of(1).jobs
    book.took(1, 4, SubtaskTimes(3.0, 2.0), memory=MachineBytes(70, 50))
    book.took(1, 2, SubtaskTimes(6.0, 2.0), memory=MachineBytes(80, 60))
    book.took(
        1, 4, SubtaskTimes(3.0, 2.0), memory=MachineBytes(50, 30)
    )  # It keeps more on disk now.
    seen = book.estimates(jobs).subtasks
    assert seen is not None
    assert (seen.input_bytes.tolist(), seen.model_bytes.tolist()) == ([0.0], [120.0])
    assert seen.machine_bytes.tolist() == [20.0]


def test_a_measured_iteration_changes_the_estimates() -> None:
    book = Measurements()
    book.arrived(1, data=DataSizes(70, 30))
    jobs = table_of(1).jobs
    assert book.estimates(jobs).subtasks is book.estimates(jobs).subtasks
    book.took(1, 4, SubtaskTimes(3.0, 2.0))
    seen = book.estimates(jobs).subtasks
    assert seen is not None
    assert seen.is_measured.tolist() == [True]


def test_a_job_overlaps_as_its_user_specified_until_its_reports_tell_it() -> None:
    """COMM of a table that exchanges changes does not run beside COMP, whatever its user wants."""
    book = Measurements()
    for number, overlap in enumerate((Overlap.NEVER, Overlap.PERMITTED, Overlap.ALWAYS), start=1):
        book.arrived(number, data=DataSizes(0, 0, overlap))
    jobs = table_of(1, 2, 3).jobs

    def seen() -> list[int]:
        subtasks = book.estimates(jobs).subtasks
        assert subtasks is not None
        return subtasks.overlap.tolist()

    assert seen() == [0, 1, 2]
    book.took(3, 1, SubtaskTimes(3.0, 2.0, overlaps=True))
    assert seen() == [0, 1, 2]
    book.took(2, 1, SubtaskTimes(3.0, 2.0))
    book.took(3, 1, SubtaskTimes(3.0, 2.0))
    assert seen() == [0, 1, 0]
    # Submitted to a server that told the policy nothing of `consistency=async`.
    book.took(1, 1, SubtaskTimes(3.0, 2.0, overlaps=True))
    assert seen() == [2, 1, 0]
