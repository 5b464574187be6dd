"""Jobs of an accounting log: which of them a simulation can replay, and what was assumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from motet.domain.units import exact_seconds
from motet.sim.traces.cells import since_first
from motet.sim.traces.formats.leaving_out import without
from motet.sim.traces.problems import Problems
from motet.sim.traces.times.time_stamps import TimeStamps
from motet.sim.traces.trace import Jobs

_SUCCEEDED = ("", "COMPLETED", "Succeeded", "JobFinished", "Complete")


@dataclass(frozen=True, slots=True)
class LoggedJob:
    """A job of the log, with absolute times in microseconds.

    `row`: of its first record. `start_us`, `end_us`: None if unknown. `ran_us`: time on its
    resources; None if it never started. `is_cut`: it had not ended. `runs`, `components`: number of
    runs that were added up, and of jobs that are one here. `tasks`: number of jobs of an array that
    have this record.
    """

    id: str
    row: int
    state: str
    submit_us: int
    start_us: int | None
    end_us: int | None
    ran_us: int | None
    gpus: int
    cpus: int
    memory_bytes: int
    nodes: int
    is_cut: bool = False
    runs: int = 1
    components: int = 1
    tasks: int = 1


_NO_JOB = LoggedJob("", -1, "", 0, None, None, 0, 1, 0, 0, 0)
"""In the place of a bad row."""


@dataclass(frozen=True)
class JobLog:
    """`jobs`: in any order. `lines`: of all rows. `texts`: further columns, a cell per row.

    `stamps`: that read the times. `count_others`: how to count something else if no job has a GPU,
    for the message.
    """

    jobs: Sequence[LoggedJob]
    lines: Sequence[int]
    texts: Mapping[str, Sequence[str]]
    count_others: str
    stamps: TimeStamps

    def replayable(
        self, problems: Problems, notices: Sequence[str]
    ) -> tuple[Jobs, list[LoggedJob]]:
        """Jobs that started and have GPUs, and bad rows so that they are counted.

        Time 0 is the first submission. `notices`: of the reader. Also returns the jobs themselves.
        """
        of_row = {job.row: job for job in self.jobs}
        rows = [row for row in range(len(self.lines)) if row in of_row or row in problems]
        problems.renumber(rows)
        found = [of_row.get(row, _NO_JOB) for row in rows]
        bad = {place for place in range(len(rows)) if place in problems}
        idle = {place for place, job in enumerate(found) if job.ran_us is None} - bad
        slotless = {place for place, job in enumerate(found) if not job.gpus} - bad - idle
        kept = [job for place, job in enumerate(found) if place not in bad | idle | slotless]
        hint = "" if kept else self.count_others
        why = _reasons([found[place] for place in sorted(idle)], len(slotless), hint)
        jobs = self._columns(rows, found, bad, (*notices, *_assumptions(kept)))
        return without(jobs, problems, idle | slotless, why, [job.tasks for job in found]), kept

    def _columns(
        self,
        rows: Sequence[int],
        found: Sequence[LoggedJob],
        bad: Collection[int],
        notices: tuple[str, ...],
    ) -> Jobs:
        submit_us, first_us = since_first([job.submit_us for job in found], bad)
        return Jobs(
            [self.lines[row] for row in rows],
            [job.id for job in found],
            submit_us,
            [job.ran_us or 0 for job in found],
            [job.gpus for job in found],
            {name: [cells[row] for row in rows] for name, cells in self.texts.items() if any(cells)}
            | {
                "state": [job.state for job in found],
                "num_nodes": [str(job.nodes or "") for job in found],
                "start_time": [_clock(job.start_us, first_us) for job in found],
                "end_time": [_clock(job.end_us, first_us) for job in found],
            },
            notices,
            cpus=[job.cpus for job in found],
            memory_bytes=[job.memory_bytes for job in found],
            zero=self.stamps.moment(first_us),
        )


def count_noun(count: int, noun: str) -> str:
    """`1 job`, `2,000 jobs`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _reasons(idle: Sequence[LoggedJob], slotless: int, hint: str) -> str:
    """Why jobs are left out: `idle` never started, `slotless` ask for no GPU."""
    parts = []
    if idle:
        parts.append(f"never started ({_by_state(idle)})")
    if slotless:
        count = f"{slotless:,}" if idle else ""
        detail = ", ".join(filter(None, (count, hint)))
        parts.append("ask for no GPU" + (f" ({detail})" if detail else ""))
    return " or ".join(parts)


def _assumptions(kept: Sequence[LoggedJob]) -> list[str]:
    found = []
    if several := sum(job.runs > 1 for job in kept):
        many = count_noun(several, "job")
        found.append(f"{many} ran several times (requeued): the duration is the sum of the runs")
    if early := [job for job in kept if not job.is_cut and job.state not in _SUCCEEDED]:
        many, why = count_noun(len(early), "job"), _by_state(early)
        found.append(f"{many} did not complete ({why}): the duration is the time until then")
    if cut := [job for job in kept if job.is_cut]:
        many = count_noun(len(cut), "job")
        found.append(f"{many} had not ended ({_by_state(cut)}): the duration is the time so far")
    return found


def _by_state(jobs: Sequence[LoggedJob]) -> str:
    counts = Counter[str]()
    for job in jobs:
        counts[job.state or "no state"] += job.tasks
    return ", ".join(f"{state} {count:,}" for state, count in counts.most_common())


def _clock(time_us: int | None, first_us: int) -> str:
    return "" if time_us is None else exact_seconds(time_us - first_us)
