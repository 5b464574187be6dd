"""Standard Workload Format of the Parallel Workloads Archive: 18 numbers per line, `;` comments.

A processor counts as a GPU; -1 is an unknown value.
"""

from __future__ import annotations

from motet.domain.units import exact_seconds
from motet.sim.traces.cells import decimal_number, seconds_us, whole_number
from motet.sim.traces.formats.format import TraceFormat
from motet.sim.traces.formats.leaving_out import without
from motet.sim.traces.problems import WRONG_CELLS, Problems
from motet.sim.traces.source import Source
from motet.sim.traces.table import Cells
from motet.sim.traces.trace import Jobs

FIELDS = 18
_ID, _SUBMIT, _WAIT, _RUN, _ALLOCATED, _REQUESTED = 0, 1, 2, 3, 4, 7
_TEXT_FIELDS = {"state": 10, "user": 11, "queue": 14}
_UNKNOWN = "-1"


class SwfFormat(TraceFormat):
    """One job per line of 18 numbers."""

    name = "swf"
    described = "Standard Workload Format (seconds)"

    def recognises(self, source: Source) -> bool:
        """Whether the first line that is no comment holds 18 numbers."""
        data = [line for line in source.head if not line.lstrip().startswith(";")]
        return bool(data) and len(data[0].split()) == FIELDS and _are_numbers(data[0].split())

    def read(self, source: Source, problems: Problems) -> Jobs:
        """See TraceFormat. Jobs that never ran (run time or processors unknown) are left out."""
        lines, columns = _columns(source, problems)
        requested = [
            allocated if asked == _UNKNOWN else asked
            for asked, allocated in zip(columns[_REQUESTED], columns[_ALLOCATED], strict=True)
        ]
        never_ran = {
            row for row, run in enumerate(columns[_RUN]) if _UNKNOWN in (run, requested[row])
        }
        submit_us = problems.numbers("submit time", columns[_SUBMIT], seconds_us)
        duration_us = problems.numbers("run time", columns[_RUN], seconds_us)
        jobs = Jobs(
            lines,
            columns[_ID],
            submit_us,
            duration_us,
            problems.numbers("requested processors", requested, whole_number),
            {name: _known(columns[field]) for name, field in _TEXT_FIELDS.items()}
            | _clock(submit_us, columns[_WAIT], duration_us),
        )
        return without(jobs, problems, never_ran, "have no run time or processors")


def _columns(source: Source, problems: Problems) -> tuple[list[int], list[Cells]]:
    lines: list[int] = []
    rows: list[list[str]] = []
    for number, line in enumerate(source.text.split("\n"), start=1):
        cells = line.split()
        if not cells or cells[0].startswith(";"):
            continue
        if len(cells) != FIELDS:
            problems.add(len(rows), WRONG_CELLS, f"{len(cells)} fields, SWF has {FIELDS}")
            cells = [""] * FIELDS
        lines.append(number)
        rows.append(cells)
    return lines, list(zip(*rows, strict=True)) if rows else [()] * FIELDS


def _clock(submit_us: list[int], wait: Cells, run_us: list[int]) -> dict[str, list[str]]:
    """Return the start and end times of jobs in the log, "" if they are missing."""
    starts, ends = [], []
    for submitted, waited, ran in zip(submit_us, wait, run_us, strict=True):
        try:
            waited_us = seconds_us(waited)
        except ValueError:
            waited_us = -1
        start_us = submitted + waited_us
        starts.append(exact_seconds(start_us) if waited_us >= 0 else "")
        ends.append(exact_seconds(start_us + ran) if waited_us >= 0 else "")
    return {"start_time": starts, "end_time": ends}


def _known(cells: Cells) -> list[str]:
    return ["" if cell == _UNKNOWN else cell for cell in cells]


def _are_numbers(cells: Cells) -> bool:
    try:
        for cell in cells:
            decimal_number(cell)
    except ValueError:
        return False
    return True
