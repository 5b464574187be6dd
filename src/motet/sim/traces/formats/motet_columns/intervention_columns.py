"""Columns of user interventions in a motet CSV: cancel, suspend, resume."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from motet.domain.units import NEVER_US, exact_seconds
from motet.sim.traces.cells import seconds_us
from motet.sim.traces.problems import WRONG_ORDER, Problems
from motet.sim.traces.table import Table
from motet.sim.workload.interventions import Interventions

INTERVENTION_COLUMNS = ("cancel_time", "suspend_time", "resume_time")
"""Seconds on the trace's clock; empty: no intervention."""


def read_interventions(
    table: Table, submit_us: Sequence[int], problems: Problems
) -> Interventions | None:
    """The interventions of all rows; None if there are none."""
    columns = [
        problems.times(name, table.columns.get(name), seconds_us) or [NEVER_US] * len(submit_us)
        for name in INTERVENTION_COLUMNS
    ]
    if all(time_us == NEVER_US for column in columns for time_us in column):
        return None
    for row, times_us in enumerate(zip(submit_us, *columns, strict=True)):
        if message := _wrong_order(*times_us):
            problems.add(row, WRONG_ORDER, message)
    return Interventions.of(*columns)


def intervention_columns(interventions: Interventions) -> Mapping[str, Sequence[str]]:
    """The columns as text."""
    columns = (interventions.cancel_us, interventions.suspend_us, interventions.resume_us)
    return {
        name: ["" if time_us == NEVER_US else exact_seconds(time_us) for time_us in column.tolist()]
        for name, column in zip(INTERVENTION_COLUMNS, columns, strict=True)
    }


def _wrong_order(submit_us: int, cancel_us: int, suspend_us: int, resume_us: int) -> str | None:
    for name, time_us in (("cancel_time", cancel_us), ("suspend_time", suspend_us)):
        if time_us < submit_us:
            return f"{name} is {exact_seconds(time_us)} s, before the job is submitted"
    if resume_us == NEVER_US or suspend_us < resume_us:
        return None
    if suspend_us == NEVER_US:
        return "resume_time without suspend_time"
    return f"resume_time is {exact_seconds(resume_us)} s, it must be after suspend_time"
