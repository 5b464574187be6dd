"""Motet's own CSV: seconds on the trace's clock; the other formats convert to it."""

from __future__ import annotations

from motet.sim.traces.cells import seconds_us, whole_number
from motet.sim.traces.formats.format import TraceFormat
from motet.sim.traces.problems import Problems
from motet.sim.traces.source import Source
from motet.sim.traces.table import Table, stripped
from motet.sim.traces.trace import MORE_COLUMNS, Jobs

NEEDED = ("job_id", "submit_time", "num_gpus", "duration")
_TEXTS = {name: name for name in ("user", "queue", "model", *MORE_COLUMNS)}


def read(source: Source, problems: Problems) -> Jobs:
    """See TraceFormat."""
    table = Table.read(source, NEEDED, problems)
    return Jobs(
        table.lines,
        stripped(table["job_id"]),
        problems.numbers("submit_time", table["submit_time"], seconds_us),
        problems.numbers("duration", table["duration"], seconds_us),
        problems.numbers("num_gpus", table["num_gpus"], whole_number),
        table.texts(**_TEXTS),
    )


FORMAT = TraceFormat("motet", "Motet CSV (seconds)", read, NEEDED)
