"""Proposals for the columns of a log from their names."""

from __future__ import annotations

import pytest

from motet.sim.traces.formats.motet_columns.usual_names import has_usual_name, usual_column


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("job_id", "Job Nr"),
        ("job_id", "Job #"),
        ("job_id", "JobID"),
        ("num_gpus", "# GPUs"),
        ("num_gpus", "#gpus"),
        ("num_gpus", "Number of GPUs"),
        ("num_gpus", "No. GPUs"),
        ("num_gpus", "GPU count"),
        ("num_gpus", "allocated-gpus"),
        ("duration", "Run Time (s)"),
        ("duration", "run"),
        ("duration", "runtime [sec]"),
        ("duration", "elapsed_seconds"),
        ("submit_time", "Submitted At"),
        ("end_time", "Finished"),
    ],
)
def test_a_usual_name_is_known_in_any_form(name: str, column: str) -> None:
    header = ["Owner", "Notes", column]
    assert usual_column(name, header) == column


def test_a_unit_other_than_seconds_is_no_usual_name() -> None:
    assert not has_usual_name("duration", ["Run Time (h)", "elapsed minutes"])


def test_the_first_of_two_columns_of_one_name_is_proposed() -> None:
    assert usual_column("num_gpus", ["GPUs", "# GPUs"]) == "GPUs"
