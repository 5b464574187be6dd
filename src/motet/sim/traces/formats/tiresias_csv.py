"""CSV of the original Tiresias simulator: whole seconds, `num_gpu`, `model_name`."""

from __future__ import annotations

from motet.sim.traces.cells import seconds_us, whole_number
from motet.sim.traces.formats.format import TraceFormat
from motet.sim.traces.problems import Problems
from motet.sim.traces.source import Source
from motet.sim.traces.table import Table, stripped
from motet.sim.traces.trace import Jobs

NEEDED = ("job_id", "num_gpu", "submit_time", "duration")


class TiresiasCsvFormat(TraceFormat):
    """One job per row; times in seconds."""

    name = "tiresias"
    described = "Tiresias CSV (seconds)"
    columns = NEEDED

    def read(self, source: Source, problems: Problems) -> Jobs:
        """See TraceFormat. `interval` (since the job before) follows from the submit times."""
        table = Table.read(source, NEEDED, problems)
        return Jobs(
            table.lines,
            stripped(table["job_id"]),
            problems.numbers("submit_time", table["submit_time"], seconds_us),
            problems.numbers("duration", table["duration"], seconds_us),
            problems.numbers("num_gpu", table["num_gpu"], whole_number),
            table.texts(model="model_name", iterations="iterations"),
        )
