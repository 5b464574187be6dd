"""`sacct --parsable2` of Slurm: one record per job, step and run, fields in any order.

Fields, states and time formats are those of sacct(1) of Slurm 25.11.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from motet.domain.errors import BadInput
from motet.sim.traces.cells import seconds_us
from motet.sim.traces.formats.format import TraceFormat
from motet.sim.traces.formats.logged_jobs import JobLog, LoggedJob, count_noun
from motet.sim.traces.formats.slurm.accounting_rows import ID_FIELDS, Accounting, is_accounting
from motet.sim.traces.formats.slurm.job_runs import joined_runs
from motet.sim.traces.formats.slurm.tres import cpus_in, gpus_in, memory_bytes_in, nodes_in
from motet.sim.traces.problems import Problems
from motet.sim.traces.source import Source
from motet.sim.traces.table import Cells, stripped
from motet.sim.traces.times.clock_forms import read_usual
from motet.sim.traces.times.durations import duration_us
from motet.sim.traces.times.time_stamps import TimeStamps
from motet.sim.traces.trace import Jobs

_FIELDS = {
    "job_id": ID_FIELDS,
    "submit_time": ("submit", "eligible"),
    "start_time": ("start",),
    "end_time": ("end",),
    "duration": ("elapsedraw", "elapsed"),
    "num_gpus": ("alloctres", "reqtres", "allocgres", "reqgres"),
    "num_cpus": ("alloctres", "reqtres", "alloccpus", "ncpus", "reqcpus"),
    "memory_gb": ("alloctres", "reqtres"),
    "num_nodes": ("alloctres", "reqtres", "allocnodes", "nnodes", "reqnodes"),
    "state": ("state",),
    "user": ("user", "uid"),
    "queue": ("partition", "account"),
    "model": (),
    "experiment": (),
    "priority": ("priority",),
}
"""For Motet's columns the fields of sacct; the first with a value counts."""

_TEXTS = ("user", "queue", "model", "experiment", "priority")
_COUNT_CPUS = "to let CPUs count: --columns num_gpus=AllocCPUS"
_NOT_STARTED = frozenset(("PENDING", "REVOKED", "CONFIGURING"))
_RUNNING = frozenset(("RUNNING", "SUSPENDED", "COMPLETING", "STOPPED", "SIGNALING", "STAGE_OUT"))


class SacctFormat(TraceFormat):
    """Accounting records of jobs; GPUs from the trackable resources."""

    name = "sacct"
    described = "Slurm accounting (sacct)"
    takes_columns = True

    def recognises(self, source: Source) -> bool:
        """Whether the first line is a header of sacct."""
        return is_accounting(source)

    def read(self, source: Source, problems: Problems) -> Jobs:
        """See TraceFormat. Time 0 is the first submission.

        A job's duration is the time that it ran, over all its runs, however it ended. Jobs that
        never started and jobs without GPUs are left out.
        """
        records = _Records.read(source, problems)
        runs = joined_runs(records.jobs(problems))
        texts = {name: records.texts(name) for name in _TEXTS}
        log = JobLog(runs.jobs, records.accounting.table.lines, texts, _COUNT_CPUS, records.stamps)
        notices = [*records.stamps.notices(), *runs.notices()]
        jobs, kept = log.replayable(problems, notices)
        return replace(jobs, notices=(*jobs.notices, *_lost_runs(kept, records.field("restarts"))))


@dataclass(frozen=True)
class _Records:
    """All records, steps excluded, with the columns that jobs are made of."""

    accounting: Accounting
    stamps: TimeStamps

    @classmethod
    def read(cls, source: Source, problems: Problems) -> _Records:
        """Raises BadInput if no field has submissions, GPUs or the times that jobs ran."""
        accounting = Accounting.read(source, problems)
        for name, field in (("submit_time", "Submit"), ("num_gpus", "AllocTRES")):
            if accounting.first_known(name, _FIELDS[name]) is None:
                raise _missing(source, name, field)
        ran = accounting.first_known("duration", _FIELDS["duration"]) is not None
        times = [accounting.first_known(name, _FIELDS[name]) for name in ("start_time", "end_time")]
        if not ran and None in times:
            raise _missing(source, "duration", "Start,End,Elapsed")
        clock = source.options.clock
        stamps = TimeStamps(source.options.zone, clock.read if clock else read_usual)
        return cls(accounting, stamps)

    def texts(self, name: str) -> list[str]:
        """A column as text; empty cells if there is none."""
        cells = self.accounting.first_known(name, _FIELDS[name])
        return stripped(cells) if cells is not None else [""] * len(self.accounting.table.lines)

    def field(self, name: str) -> Cells:
        """A field of sacct, by its name in lower case; empty cells if it is missing."""
        table = self.accounting.table
        return table.columns.get(name, ("",) * len(table.lines))

    def numbers(
        self, name: str, parse_cell: Callable[[str], int], problems: Problems
    ) -> list[int | None]:
        """A column of numbers; None for unknown ones."""
        return problems.optional(name, self.texts(name), parse_cell)

    def jobs(self, problems: Problems) -> list[LoggedJob]:
        """A record for every row without problems."""
        times = self._times(problems)
        states = self._states(times)
        ran = self.numbers("duration", duration_us, problems)
        resources = zip(
            self.numbers("num_gpus", gpus_in, problems),
            self.numbers("num_cpus", cpus_in, problems),
            self.numbers("memory_gb", memory_bytes_in, problems),
            self.numbers("num_nodes", nodes_in, problems),
            strict=True,
        )
        now_us = _latest(times, ran)
        records = zip(self.texts("job_id"), states, *times, ran, resources, strict=True)
        return [
            _record(row, job_id, state, (submit_us, start_us, end_us), ran_us, counts, now_us)
            for row, (job_id, state, submit_us, start_us, end_us, ran_us, counts) in enumerate(
                records
            )
            if row not in problems and submit_us is not None
        ]

    def _states(self, times: Sequence[Sequence[int | None]]) -> list[str]:
        """States; a job with a start is running if only its end is unknown."""
        states = [_state(text) for text in self.texts("state")]
        if self.accounting.first_known("end_time", _FIELDS["end_time"]) is None:
            return states
        return [
            "RUNNING" if not state and start_us is not None and end_us is None else state
            for state, start_us, end_us in zip(states, *times[1:], strict=True)
        ]

    def _times(self, problems: Problems) -> list[list[int | None]]:
        """Submissions, starts and ends; a row without a submission has a problem."""
        parse = self._time_us
        submit_us, bad = problems.parse("submit_time", self.texts("submit_time"), parse)
        known: list[int | None] = [None if row in bad else at for row, at in enumerate(submit_us)]
        return [
            known,
            self.numbers("start_time", parse, problems),
            self.numbers("end_time", parse, problems),
        ]

    def _time_us(self, cell: str) -> int:
        """A time stamp; or seconds since 1970, with SLURM_TIME_FORMAT=%s."""
        return seconds_us(cell) if cell.isdecimal() else self.stamps.microseconds(cell)


def _missing(source: Source, name: str, field: str) -> BadInput:
    what = {
        "submit_time": "the submissions of jobs",
        "num_gpus": "GPUs",
        "duration": "the times that jobs ran",
    }[name]
    slots = " (in a log without GPUs, let CPUs count: num_gpus=AllocCPUS)"
    return source.complaint(
        f"no field with {what}",
        f"add {field} to --format of sacct, or name a field with --columns {name}=FIELD"
        + (slots if name == "num_gpus" else ""),
        1,
    )


def _state(text: str) -> str:
    """`CANCELLED by 1001` and the truncated `CANCELLED+` are CANCELLED."""
    words = text.upper().split()
    return words[0].rstrip("+") if words else ""


def _latest(times: Sequence[Sequence[int | None]], ran: Sequence[int | None]) -> int:
    """The latest time in the log: the log was not written before it."""
    known = [time_us for column in times for time_us in column if time_us is not None]
    ends = [
        start_us + ran_us
        for start_us, ran_us in zip(times[1], ran, strict=True)
        if start_us is not None and ran_us is not None
    ]
    return max((*known, *ends), default=0)


def _record(
    row: int,
    job_id: str,
    state: str,
    times_us: tuple[int, int | None, int | None],
    ran_us: int | None,
    resources: tuple[int | None, ...],
    now_us: int,
) -> LoggedJob:
    submit_us, start_us, end_us = times_us
    is_running = state in _RUNNING
    if ran_us is None and start_us is not None:
        until_us = end_us if end_us is not None else now_us if is_running else start_us
        ran_us = until_us - start_us
    has_no_run = not ran_us and (start_us is None or state == "CANCELLED")
    if state in _NOT_STARTED or has_no_run:
        start_us = ran_us = None
    gpus, cpus, memory_bytes, nodes = (count or 0 for count in resources)
    return LoggedJob(
        job_id,
        row,
        state,
        submit_us,
        start_us,
        end_us,
        ran_us,
        gpus,
        cpus,
        memory_bytes,
        nodes,
        is_cut=is_running,
    )


def _lost_runs(kept: Sequence[LoggedJob], restarts: Sequence[str]) -> tuple[str, ...]:
    """The notice about jobs whose earlier runs sacct omits unless asked for duplicates."""
    lost = sum(job.runs == 1 and restarts[job.row].strip("0 ").isdecimal() for job in kept)
    if not lost:
        return ()
    return (
        f"{count_noun(lost, 'job')} was restarted, but the log has one run and a later submission; "
        "sacct --duplicates has all runs",
    )
