"""Jobs as accounting records: one per attempt, as `sacct --parsable2 --duplicates` prints. Pure.

Fields, states and times (UTC) are those of sacct(1) of Slurm 25.11. A slot counts as a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from motet.live.jobs.attempt import Attempt, AttemptOutcome, StopCause
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_state import JobState
from motet.live.launcher.messages import first_failure

ACCOUNTING_FIELDS = (
    *("JobID", "JobName", "User", "Partition", "Priority", "Submit", "Start", "End", "ElapsedRaw"),
    *("Timelimit", "State", "ExitCode", "Restarts", "AllocTRES"),
)
_DELIMITER = "|"
_UNKNOWN, _NONE, _NO_LIMIT = "Unknown", "None", "UNLIMITED"
_FINAL = {
    JobState.SUCCEEDED: "COMPLETED",
    JobState.FAILED: "FAILED",
    JobState.CANCELLED: "CANCELLED",
}


def accounting_lines(job: LiveJob, now_us: int) -> Iterator[str]:
    """A line per attempt; for a job that has had none, or waits for the next one, a line without
    a start."""
    for attempt in job.attempts:
        yield _line(job, attempt, now_us)
    if job.attempt is None and not (job.attempts and job.state.is_final):
        yield _line(job, None, now_us)


def _line(job: LiveJob, attempt: Attempt | None, now_us: int) -> str:
    start_us = end_us = None
    slots, machines = job.spec.processes, 0
    if attempt is not None:
        start_us, end_us = attempt.requested_us, attempt.ended_us
        slots, machines = attempt.processes, len(attempt.placement.machines)
    elsewhere = job.ended_us if attempt is None else None
    lasted_us = 0 if start_us is None else (end_us or now_us) - start_us
    cells = (
        str(job.number),
        job.spec.name,
        job.user,
        job.spec.queue,
        str(job.spec.priority),
        _time(job.submitted_us, _UNKNOWN),
        _time(start_us, _NONE if job.state.is_final else _UNKNOWN),
        _time(end_us or elsewhere, _UNKNOWN),
        str(round(lasted_us / 1e6)),
        _limit(job.spec.max_duration),
        _state(job, attempt),
        _exit_code(attempt),
        str(max(len(job.attempts) - 1, 0)),
        f"cpu={slots},gres/gpu={slots},node={machines}",
    )
    return _DELIMITER.join(cell.replace(_DELIMITER, "_") for cell in cells)


def _time(at_us: int | None, unknown: str) -> str:
    if at_us is None:
        return unknown
    return datetime.fromtimestamp(round(at_us / 1e6), UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _limit(max_duration: float | None) -> str:
    """`02:00:00`, `1-00:00:00`."""
    if max_duration is None:
        return _NO_LIMIT
    days, rest_s = divmod(round(max_duration), 86_400)
    clock = f"{rest_s // 3600:02}:{rest_s // 60 % 60:02}:{rest_s % 60:02}"
    return f"{days}-{clock}" if days else clock


def _state(job: LiveJob, attempt: Attempt | None) -> str:
    """Of the job for its last attempt; of an earlier one why it was not the last."""
    is_last = attempt is None or attempt is job.attempts[-1]
    if is_last and job.state.is_final:
        return "TIMEOUT" if job.has_timed_out else _FINAL[job.state]
    if attempt is None:
        return "PENDING"
    if not attempt.has_ended:
        return "RUNNING"
    if attempt.stop_cause is StopCause.PREEMPTED:
        return "PREEMPTED"
    is_lost = attempt.outcome is AttemptOutcome.LOST
    return "NODE_FAIL" if is_lost else "REQUEUED"


def _exit_code(attempt: Attempt | None) -> str:
    """Status and signal of the process that failed first."""
    if attempt is None or (rank := first_failure(attempt.exits)) is None:
        return "0:0"
    end = attempt.exits[rank]
    return f"{end.code or 0}:{end.signal or 0}"
