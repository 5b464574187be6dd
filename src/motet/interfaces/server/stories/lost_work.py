"""What a preemption or a lost machine cost a job: its work since the last checkpoint, and the time
of its next start.

Work counts until the stop was requested, as in the sentence that says how long the job ran: for a
lost machine this is when the cluster missed it. The wait until its processes are certainly dead,
and the time that processes have to stop, are no work.

The end of an attempt records when the last checkpoint was written. Of attempts without this record,
as earlier versions made them, a checkpoint that a later attempt has overwritten is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from motet.domain.units import duration_words, microseconds, seconds
from motet.live.jobs.attempt import Attempt, AttemptOutcome, StopCause
from motet.live.jobs.job import LiveJob

_EVENTS = {"preempt", "evict"}
_CAUSES = (StopCause.PREEMPTED, StopCause.MACHINE_LOST)


class Kept(Enum):
    """What the work after it was lost since, in words."""

    CHECKPOINT = " since its last checkpoint"
    REPORT = " since its last report of progress"
    START = ", all since its start"


@dataclass(frozen=True, slots=True)
class LostWork:
    """`work_us`: from the last write or report to the request to stop, or to the end of the
    processes if that was earlier; None: not known.

    `since`: which of them it was; START: none since the start. `restart_us`: from the next
    allocation of slots until its processes ran; None: it has not begun again.
    """

    work_us: int | None
    since: Kept = Kept.CHECKPOINT
    restart_us: int | None = None

    @classmethod
    def of(cls, job: LiveJob, attempt: Attempt, writes_us: Sequence[int]) -> LostWork | None:
        """None: the attempt has not ended, was not taken from the job, or had succeeded before the
        signal reached it."""
        has_succeeded = attempt.outcome is AttemptOutcome.SUCCEEDED
        if attempt.freed_us is None or attempt.stop_cause not in _CAUSES or has_succeeded:
            return None
        later = job.attempts[attempt.number :]
        restart_us = None
        if later and later[0].running_us is not None:
            restart_us = later[0].running_us - later[0].requested_us
        if attempt.saved_us is not None:
            writes_us = [attempt.saved_us]
        work_us, since = _work(attempt, attempt.freed_us, writes_us)
        return cls(work_us, since, restart_us)

    def words(self) -> str:
        """For the end of a sentence; empty: nothing is known."""
        parts = []
        if self.work_us is not None:
            parts.append(f"{duration_words(self.work_us)} of work lost{self.since.value}")
        if self.restart_us is not None:
            parts.append(f"{duration_words(self.restart_us)} to start again")
        return "".join(f"; {part}" for part in parts)


def _work(attempt: Attempt, freed_us: int, writes_us: Sequence[int]) -> tuple[int | None, Kept]:
    """`writes_us`: to the folder of checkpoints, as far as they are known."""
    begin_us = attempt.running_us
    if begin_us is None:
        return 0, Kept.CHECKPOINT
    times_us = (freed_us, attempt.ended_us, attempt.stopping_us)
    until_us = min(each for each in times_us if each is not None)
    reports_us = [] if attempt.reported_us is None else [attempt.reported_us]
    known = [(at_us, Kept.CHECKPOINT) for at_us in writes_us if begin_us <= at_us <= freed_us]
    known += [(at_us, Kept.REPORT) for at_us in reports_us if begin_us <= at_us <= freed_us]
    if not known and any(each > freed_us for each in writes_us):
        return None, Kept.START
    kept_us, since = max(known, default=(begin_us, Kept.START), key=lambda each: each[0])
    return max(until_us - kept_us, 0), since


def with_lost_work(
    chapters: Iterable[dict[str, Any]], job: LiveJob, writes_us: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """The chapters of a job; those of preemptions and lost machines have `lost_s`, `restart_s`."""
    for each in chapters:
        attempt = _attempt_at(job, microseconds(str(each["from"])))
        is_loss = each["event"] in _EVENTS and each["kind"] == "moment"
        lost = LostWork.of(job, attempt, writes_us) if is_loss and attempt is not None else None
        if lost is None:
            yield each
            continue
        yield {
            **each,
            "sentence": each["sentence"] + lost.words(),
            "lost_s": None if lost.work_us is None else seconds(lost.work_us),
            "restart_s": None if lost.restart_us is None else seconds(lost.restart_us),
        }


def _attempt_at(job: LiveJob, at_us: int) -> Attempt | None:
    """The attempt that held slots then."""
    held = (each for each in job.attempts if each.requested_us <= at_us)
    return max(held, key=lambda each: each.number, default=None)
