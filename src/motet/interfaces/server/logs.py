"""Parts of the logs of processes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from motet.domain.errors import BadInput, NotFound
from motet.insight.wording import counted
from motet.live.jobs.attempt import Attempt
from motet.live.jobs.job import LiveJob
from motet.live.master.requests import Workplace
from motet.live.master.state import LiveState
from motet.live.upkeep.log_limit import hole_at

LARGEST_PART_BYTES = 1 << 20
_GONE = b"[this log is no longer in the state folder: deleted by --keep-days or by hand]\n"


@dataclass(frozen=True, slots=True)
class LogPlace:
    """The log of one process. `has_ended`: whether its last byte was written before. `ranks`: how
    many processes the attempt has. `began`: the attempt whose processes it goes on with. `has_run`:
    whether this process has been started, as far as the master has heard."""

    job: int
    attempt: int
    rank: int
    has_ended: bool
    ranks: int
    began: int
    has_run: bool


@dataclass(frozen=True, slots=True)
class LogPart:
    """`next_offset`: where the next part begins. `is_complete`: nothing more will be written.

    `size`: of the log when it was read. `is_note`: the data are not of the log, but tell what was
    removed from it, or that it is gone.
    """

    data: bytes
    next_offset: int
    is_complete: bool
    size: int = 0
    is_note: bool = False


def log_place(state: LiveState, number: int, attempt: int, rank: int) -> LogPlace:
    """Where a process of a job writes. `attempt`: 0 is the last one; its log has ended when the
    job has. A job that has failed by its trial has the log of the trial. Raises NotFound, BadInput
    for an array, and for a process that the attempt does not have and none that follows may have.
    """
    job = logged_job(state, number)
    if attempt > len(job.attempts):
        raise NotFound(f"job {job.number} has had {counted(len(job.attempts), 'attempt')}")
    chosen = attempt or len(job.attempts)
    ranks = job.ranks_of(job.attempts[chosen - 1]) if chosen else job.spec.processes
    others_follow = not (attempt or job.state.is_final)
    if rank >= (max(ranks, job.spec.processes) if others_follow else ranks):
        raise BadInput(_no_such_process(job, chosen, ranks))
    began = job.attempts[chosen - 1].began if chosen else 0
    has_ended = not chosen or job.latest_of(began).has_ended
    has_run = bool(chosen) and _has_started(job, job.attempts[chosen - 1], rank)
    return LogPlace(
        job.number, chosen, rank, has_ended and not others_follow, ranks, began, has_run
    )


def _has_started(job: LiveJob, attempt: Attempt, rank: int) -> bool:
    """Of a gang of which only some processes have started, their ends tell."""
    if attempt.running_us is not None:
        return True
    exits = job.latest_of(attempt.began).exits
    return rank < len(exits) and exits[rank].started_s is not None


def _no_such_process(job: LiveJob, attempt: int, ranks: int) -> str:
    """Of an elastic training, attempts may have different ones."""
    who = f"attempt {attempt} of job {job.number}" if attempt else f"job {job.number}"
    has = f"has processes 0 to {ranks - 1}" if ranks > 1 else "has one process, 0"
    return f"{who} {has}: choose one of them by --rank"


def logged_job(state: LiveState, number: int) -> LiveJob:
    """The job whose processes have written the log of a job: itself, or the trial by which it has
    failed. Raises NotFound, BadInput for an array."""
    job = state.job(number)
    return state.job(job.failed_trial) if job.failed_trial else job


def log_path(workplace: Workplace, place: LogPlace) -> Path:
    """The file of a log."""
    folder = workplace.attempt_folder(place.job, place.began)
    return folder / f"rank-{place.rank}" / "log"


def read_log(workplace: Workplace, place: LogPlace, offset: int) -> LogPart:
    """At most LARGEST_PART_BYTES of a log. `offset`: a negative one is counted from its end."""
    try:
        with open(log_path(workplace, place), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            offset = max(0, size + offset) if offset < 0 else offset
            data_at, hole = hole_at(file.fileno(), offset)
            if data_at > offset:
                text = f"\n[{data_at - offset:,} bytes of this log were removed: --log-limit]\n"
                return LogPart(text.encode(), data_at, is_complete=False, size=size, is_note=True)
            file.seek(offset)
            data = file.read(min(LARGEST_PART_BYTES, max(hole - offset, 0)))
    except FileNotFoundError:
        # A process that has not ended has a log soon, and would have this note again and again.
        is_gone = place.has_ended and place.has_run
        note = _GONE if is_gone else b""
        return LogPart(note, max(offset, 0), place.has_ended, is_note=bool(note))
    end = offset + len(data)
    return LogPart(data, end, place.has_ended and end >= size, size)
