"""Motet's own CSV: seconds on the trace's clock. Other formats can be converted to it."""

from __future__ import annotations

from collections.abc import Sequence

from motet.report.rendering.csv_cells import original_cell
from motet.sim.traces.cells import gigabytes, seconds_us, whole_number, whole_or_more
from motet.sim.traces.curve_files import CurveFiles
from motet.sim.traces.formats.format import TraceFormat
from motet.sim.traces.formats.motet_columns.elastic_columns import WORK_COLUMNS, read_work
from motet.sim.traces.formats.motet_columns.intervention_columns import (
    INTERVENTION_COLUMNS,
    read_interventions,
)
from motet.sim.traces.formats.motet_columns.stray_columns import check_steps, misspelt_columns
from motet.sim.traces.problems import Problems
from motet.sim.traces.source import Source
from motet.sim.traces.table import Table, stripped
from motet.sim.traces.trace import MORE_COLUMNS, Jobs
from motet.sim.workload.elastic_work import WorkModels

NEEDED = ("job_id", "submit_time", "num_gpus", "duration")
_MATTERING = (
    *NEEDED,
    "user",
    "queue",
    "experiment",
    "model",
    "num_cpus",
    "memory_gb",
    *WORK_COLUMNS,
)
_TEXTS = {name: name for name in ("user", "queue", "experiment", "model", *MORE_COLUMNS)}


class MotetCsvFormat(TraceFormat):
    """One job per row; times in seconds."""

    name = "motet"
    described = "Motet CSV (seconds)"
    columns = NEEDED

    def read(self, source: Source, problems: Problems) -> Jobs:
        """See TraceFormat."""
        return jobs_of(Table.read(source, NEEDED, problems), source, problems)


def jobs_of(table: Table, source: Source, problems: Problems) -> Jobs:
    """The jobs of a table with Motet's columns; `source`: its file, for the curves it names."""
    gpus = problems.numbers("num_gpus", table["num_gpus"], whole_number)
    check_steps(table, WORK_COLUMNS, problems)
    curves = CurveFiles(source.path.parent)
    work = read_work(table, gpus, curves, problems)
    submit_us = problems.numbers("submit_time", table["submit_time"], seconds_us)
    return Jobs(
        table.lines,
        _original(stripped(table["job_id"])),
        submit_us,
        problems.numbers("duration", _durations(table, work), seconds_us),
        gpus,
        {name: _original(cells) for name, cells in table.texts(**_TEXTS).items()},
        misspelt_columns(table, _MATTERING, (*MORE_COLUMNS, *INTERVENTION_COLUMNS)),
        work=work,
        sha256=curves.hash_with(source.sha256),
        cpus=problems.demands("num_cpus", table.columns.get("num_cpus"), whole_or_more),
        memory_bytes=problems.demands("memory_gb", table.columns.get("memory_gb"), gigabytes),
        interventions=read_interventions(table, submit_us, problems),
    )


def _original(cells: Sequence[str]) -> list[str]:
    """Cells as they were before the writer made formulas of spreadsheets inert."""
    return [original_cell(cell) if cell.startswith("'") else cell for cell in cells]


def _durations(table: Table, work: WorkModels | None) -> Sequence[str]:
    """Return the duration cells; those of elastic jobs follow from their steps."""
    cells = table["duration"]
    if work is None:
        return cells
    follows = (work.planned_steps > 0).tolist()
    return ["0" if it else cell for it, cell in zip(follows, cells, strict=True)]
