"""CSV of the Muri simulator: as Tiresias', but in milliseconds, with stage times and priorities."""

from __future__ import annotations

from motet.sim.traces.cells import milliseconds_us, whole_number
from motet.sim.traces.formats.format import TraceFormat
from motet.sim.traces.problems import Problems
from motet.sim.traces.source import Source
from motet.sim.traces.table import Table, stripped
from motet.sim.traces.trace import Jobs

NEEDED = ("job_id", "num_gpu", "submit_time", "duration")
_TEXTS = {
    "model": "model_name",
    "batch_size": "batch_size",
    "iterations": "iterations",
    "priority": "priority",
}


class MuriCsvFormat(TraceFormat):
    """One job per row; times in milliseconds."""

    name = "muri"
    described = "Muri CSV (milliseconds)"
    columns = NEEDED
    marks = ("iteration_time",)

    def read(self, source: Source, problems: Problems) -> Jobs:
        """See TraceFormat."""
        table = Table.read(source, NEEDED, problems)
        return Jobs(
            table.lines,
            stripped(table["job_id"]),
            problems.numbers("submit_time", table["submit_time"], milliseconds_us),
            problems.numbers("duration", table["duration"], milliseconds_us),
            problems.numbers("num_gpu", table["num_gpu"], whole_number),
            table.texts(**_TEXTS),
        )
