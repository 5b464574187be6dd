"""`cluster_log.csv` of SenseTime's Helios traces: time stamps, `vc` is the virtual cluster."""

from __future__ import annotations

from motet.domain.units import exact_seconds
from motet.sim.traces.cells import (
    seconds_us,
    since_first,
    whole_number,
    whole_or_more,
)
from motet.sim.traces.formats.format import TraceFormat
from motet.sim.traces.formats.leaving_out import without
from motet.sim.traces.problems import Problems
from motet.sim.traces.source import Source
from motet.sim.traces.table import Cells, Table, stripped
from motet.sim.traces.times.time_stamps import TimeStamps
from motet.sim.traces.trace import Jobs

NEEDED = ("job_id", "gpu_num", "submit_time", "duration")
_TEXTS = {
    "user": "user",
    "queue": "vc",
    "num_cpus": "cpu_num",
    "num_nodes": "node_num",
    "state": "state",
}


class HeliosCsvFormat(TraceFormat):
    """One job per row, with time stamps."""

    name = "helios"
    described = "Helios cluster_log.csv (time stamps)"
    columns = NEEDED

    def read(self, source: Source, problems: Problems) -> Jobs:
        """See TraceFormat. Time 0 is the first submission. Jobs without GPUs are left out.

        The column `queue` of the file is the seconds that a job waited, not its queue.
        """
        table = Table.read(source, NEEDED, problems)
        stamps = TimeStamps(source.options.zone)
        times_us, unknown = problems.parse("submit_time", table["submit_time"], stamps.microseconds)
        submit_us, first_us = since_first(times_us, unknown)
        gpus, bad_gpus = problems.parse("gpu_num", table["gpu_num"], whole_number)
        clock = {
            name: _on_clock(table.columns.get(name), first_us, stamps)
            for name in ("start_time", "end_time")
        }
        jobs = Jobs(
            table.lines,
            stripped(table["job_id"]),
            submit_us,
            problems.numbers("duration", table["duration"], seconds_us),
            gpus,
            table.texts(**_TEXTS) | {name: cells for name, cells in clock.items() if cells},
            stamps.notices(says_utc=False),
            cpus=problems.demands("cpu_num", table.columns.get("cpu_num"), whole_or_more),
            zero=stamps.moment(first_us),
        )
        cpu_only = {row for row, count in enumerate(gpus) if count == 0 and row not in bad_gpus}
        return without(jobs, problems, cpu_only, "ask for no GPU")


def _on_clock(cells: Cells | None, first_us: int, stamps: TimeStamps) -> list[str]:
    return [_seconds_since(cell, first_us, stamps) for cell in cells or ()]


def _seconds_since(cell: str, first_us: int, stamps: TimeStamps) -> str:
    try:
        return exact_seconds(stamps.microseconds(cell) - first_us)
    except ValueError:
        return ""
