"""`cluster_job_log` of Microsoft's Philly traces: JSON, every job with its attempts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from motet.domain.units import exact_seconds
from motet.sim.traces.cells import since_first
from motet.sim.traces.formats.format import TraceFormat
from motet.sim.traces.formats.json_entries import entries_of_list
from motet.sim.traces.formats.leaving_out import without
from motet.sim.traces.problems import NEGATIVE_DURATION, UNPARSABLE, BadRow, Problems
from motet.sim.traces.source import Source
from motet.sim.traces.times.time_stamps import TimeStamps
from motet.sim.traces.trace import Jobs

_MISSING = (None, "", "None", "null")
_EXAMPLE = '[{"jobid": ..., "submitted_time": ..., "attempts": [...]}, ...]'


class PhillyJsonFormat(TraceFormat):
    """A list of jobs with their attempts."""

    name = "philly-json"
    described = "Philly cluster_job_log (JSON)"

    def recognises(self, source: Source) -> bool:
        """Whether it is JSON with attempts or job ids."""
        return source.head[0].lstrip()[:1] in ("[", "{") and any(
            '"attempts"' in line or '"jobid"' in line for line in source.head
        )

    def read(self, source: Source, problems: Problems) -> Jobs:
        """See TraceFormat. Time 0 is the first submission.

        A job's duration is the sum of its attempts, its GPUs are those of the largest. Attempts
        without a start or an end (logging errors, running jobs) do not count; jobs without any
        other attempt are left out.
        """
        lines, runs = [], []
        stamps = TimeStamps(source.options.zone)
        for row, (line, entry) in enumerate(entries_of_list(source)):
            lines.append(line)
            runs.append(_run_of(entry, row, stamps, problems))
        unknown = {row for row in range(len(runs)) if row in problems}
        submit_us, first_us = since_first([run.submit_us for run in runs], unknown)
        jobs = Jobs(
            lines,
            [run.id for run in runs],
            submit_us,
            [run.duration_us for run in runs],
            [run.gpus for run in runs],
            {
                "user": [run.user for run in runs],
                "queue": [run.queue for run in runs],
                "state": [run.state for run in runs],
                "num_nodes": [str(run.machines) for run in runs],
                "start_time": [_clock(run.start_us, first_us) for run in runs],
                "end_time": [_clock(run.end_us, first_us) for run in runs],
            },
            stamps.notices(says_utc=False),
            zero=stamps.moment(first_us),
        )
        never_ran = {row for row, run in enumerate(runs) if not run.gpus}
        return without(jobs, problems, never_ran, "have no attempt with a start, an end and GPUs")


@dataclass(frozen=True)
class _Run:
    """A job of the log; `start_us`, `end_us`: of its first and last attempt, if it ran."""

    id: str = ""
    user: str = ""
    queue: str = ""
    state: str = ""
    submit_us: int = 0
    duration_us: int = 0
    gpus: int = 0
    machines: int = 0
    start_us: int | None = None
    end_us: int | None = None


def _run_of(entry: Any, row: int, stamps: TimeStamps, problems: Problems) -> _Run:
    try:
        return _parsed(entry, stamps)
    except BadRow as error:
        problems.add_error(row, error)
    except (AttributeError, KeyError, TypeError):
        problems.add(row, f"{UNPARSABLE} job", f"this is not a job like {_EXAMPLE}")
    return _Run()


def _parsed(entry: Any, stamps: TimeStamps) -> _Run:
    attempts = [
        (
            _time("start_time", attempt, stamps),
            _time("end_time", attempt, stamps),
            attempt["detail"],
        )
        for attempt in entry.get("attempts") or ()
        if attempt["start_time"] not in _MISSING and attempt["end_time"] not in _MISSING
    ]
    for start_us, end_us, _ in attempts:
        if end_us < start_us:
            message = f"an attempt ends {exact_seconds(start_us - end_us)} s before it starts"
            raise BadRow(NEGATIVE_DURATION, message)
    gpus = [sum(len(machine["gpus"]) for machine in detail) for _, _, detail in attempts]
    return _Run(
        id=str(entry["jobid"]),
        user=str(entry.get("user") or ""),
        queue=str(entry.get("vc") or ""),
        state=str(entry.get("status") or ""),
        submit_us=_time("submitted_time", entry, stamps),
        duration_us=sum(end_us - start_us for start_us, end_us, _ in attempts),
        gpus=max(gpus, default=0),
        machines=max((len(detail) for _, _, detail in attempts), default=0),
        start_us=min((start_us for start_us, _, _ in attempts), default=None),
        end_us=max((end_us for _, end_us, _ in attempts), default=None),
    )


def _time(name: str, entry: Any, stamps: TimeStamps) -> int:
    cell = str(entry[name])
    try:
        return stamps.microseconds(cell)
    except ValueError as error:
        raise BadRow.unparsable(name, cell, error) from None


def _clock(time_us: int | None, first_us: int) -> str:
    return "" if time_us is None else exact_seconds(time_us - first_us)
