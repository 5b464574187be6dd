"""Traces of the Gavel simulator: seven columns with tabs, no header, steps instead of seconds.

The duration follows from the steps and the steps per second of the job's type alone on its number
of GPUs, so a table of those speeds is necessary.
"""

from __future__ import annotations

import re
from pathlib import Path

from motet.sim.traces.cells import decimal_number, seconds_us, whole_number
from motet.sim.traces.formats.format import TraceFormat
from motet.sim.traces.formats.gavel_speeds import COLUMNS, IsolatedSpeeds
from motet.sim.traces.problems import UNKNOWN_SPEED, WRONG_CELLS, BadRow, Problems
from motet.sim.traces.source import Source
from motet.sim.traces.table import Cells
from motet.sim.traces.trace import Jobs

FIELDS = 7
TABLE_NAME = "gavel_isolated_steps_per_s.csv"
_TYPE, _STEPS, _ARRIVAL, _SCALE = 0, 4, 5, 6
_BATCH_SIZE = re.compile(r"batch size (\d+)")


class GavelTsvFormat(TraceFormat):
    """One job per row, with its number of steps."""

    name = "gavel"
    described = "Gavel trace (tabs, steps)"

    def recognises(self, source: Source) -> bool:
        """Whether the first line has seven columns that end in three numbers."""
        cells = source.head[0].split("\t")
        try:
            return len(cells) == FIELDS and all(
                decimal_number(cell) >= 0 for cell in cells[_STEPS:]
            )
        except ValueError:
            return False

    def read(self, source: Source, problems: Problems) -> Jobs:
        """See TraceFormat. A job's id is its row in the file, from 0."""
        speeds = IsolatedSpeeds.read(_table_of(source))
        lines, columns = _columns(source, problems)
        gpus = problems.numbers("scale_factor", columns[_SCALE], whole_number)
        durations_us, guesses = _durations(speeds, columns, gpus, problems)
        notice = (
            f"{guesses:,} jobs ask for a number of GPUs that {speeds.path.name} lacks for their "
            "type: the speed on the next smaller number was taken"
        )
        return Jobs(
            lines,
            [str(row) for row in range(len(lines))],
            problems.numbers("arrival time", columns[_ARRIVAL], seconds_us),
            durations_us,
            gpus,
            {
                "model": columns[_TYPE],
                "batch_size": [_batch_size(kind) for kind in columns[_TYPE]],
                "iterations": columns[_STEPS],
            },
            (notice,) if guesses else (),
        )


def _table_of(source: Source) -> Path:
    """Return the given table, or one in the trace's folder or in `../profiles`."""
    if source.options.throughputs is not None:
        return source.options.throughputs
    folder = source.path.absolute().parent
    for place in (folder, folder.parent / "profiles"):
        if (place / TABLE_NAME).is_file():
            return place / TABLE_NAME
    raise source.complaint(
        "a Gavel trace counts steps, not seconds",
        f"give a table of isolated speeds (CSV with {','.join(COLUMNS)}) with --throughputs, or "
        f"put it beside the trace as {TABLE_NAME}",
    )


def _columns(source: Source, problems: Problems) -> tuple[list[int], list[Cells]]:
    lines: list[int] = []
    rows: list[list[str]] = []
    for number, line in enumerate(source.text.split("\n"), start=1):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != FIELDS:
            message = f"{len(cells)} columns with tabs, a Gavel trace has {FIELDS}"
            problems.add(len(rows), WRONG_CELLS, message)
            cells = [""] * FIELDS
        lines.append(number)
        rows.append(cells)
    return lines, list(zip(*rows, strict=True)) if rows else [()] * FIELDS


def _durations(
    speeds: IsolatedSpeeds, columns: list[Cells], gpus: list[int], problems: Problems
) -> tuple[list[int], int]:
    """Return microseconds, and the number of jobs with the speed of fewer GPUs."""
    durations_us, guesses = [], 0
    for row, (kind, steps, count) in enumerate(
        zip(columns[_TYPE], columns[_STEPS], gpus, strict=True)
    ):
        duration_us = 0
        try:
            speed = speeds.on(kind, count)
            guesses += not speed.is_exact
            duration_us = speed.duration_us(steps)
        except LookupError:
            message = f"{speeds.path.name} has no speed of job type {kind!r} on {count} GPUs"
            problems.add(row, UNKNOWN_SPEED, message)
        except ValueError as error:
            problems.add_error(row, BadRow.unparsable("total_steps", steps, error))
        durations_us.append(duration_us)
    return durations_us, guesses


def _batch_size(kind: str) -> str:
    found = _BATCH_SIZE.search(kind)
    return found[1] if found else ""
