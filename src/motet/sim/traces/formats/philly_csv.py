"""CSV derived from the Philly log: time stamps, no ids; `cluster` is the virtual cluster."""

from __future__ import annotations

from motet.sim.traces.cells import seconds_us, since_first, whole_number
from motet.sim.traces.formats.format import TraceFormat
from motet.sim.traces.problems import Problems
from motet.sim.traces.source import Source
from motet.sim.traces.table import Table
from motet.sim.traces.times.time_stamps import TimeStamps
from motet.sim.traces.trace import Jobs

NEEDED = ("timestamp", "duration", "num_gpus")


class PhillyCsvFormat(TraceFormat):
    """One job per row, with time stamps."""

    name = "philly"
    described = "CSV derived from the Philly log (time stamps)"
    columns = NEEDED

    def read(self, source: Source, problems: Problems) -> Jobs:
        """See TraceFormat. A job's id is its row, from 0; time 0 is the first submission."""
        table = Table.read(source, NEEDED, problems)
        stamps = TimeStamps(source.options.zone)
        times_us, unknown = problems.parse("timestamp", table["timestamp"], stamps.microseconds)
        return Jobs(
            table.lines,
            [str(row) for row in range(len(table.lines))],
            since_first(times_us, unknown)[0],
            problems.numbers("duration", table["duration"], seconds_us),
            problems.numbers("num_gpus", table["num_gpus"], whole_number),
            table.texts(queue="cluster"),
            stamps.notices(says_utc=False),
        )
