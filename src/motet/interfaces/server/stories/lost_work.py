"""What a preemption or a lost machine cost a job: its work since the last checkpoint, and the time
of its next start.

The end of an attempt records when the last checkpoint was written. Of attempts without this record,
as earlier versions made them, a checkpoint that a later attempt has overwritten is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from motet.domain.units import duration_words, microseconds, seconds
from motet.live.jobs.attempt import Attempt, AttemptOutcome, StopCause
from motet.live.jobs.job import LiveJob

_EVENTS = {"preempt", "evict"}
_CAUSES = (StopCause.PREEMPTED, StopCause.MACHINE_LOST)


@dataclass(frozen=True, slots=True)
class LostWork:
    """`work_us`: from the last write or report to the end of the attempt; None: not known.

    `is_all`: nothing was written since its start. `restart_us`: from the next allocation of slots
    until its processes ran; None: it has not begun again.
    """

    work_us: int | None
    is_all: bool = False
    restart_us: int | None = None

    @classmethod
    def of(cls, job: LiveJob, attempt: Attempt, writes_us: Sequence[int]) -> LostWork | None:
        """None: the attempt has not ended, was not taken from the job, or had succeeded before the
        signal reached it."""
        has_succeeded = attempt.outcome is AttemptOutcome.SUCCEEDED
        if attempt.ended_us is None or attempt.stop_cause not in _CAUSES or has_succeeded:
            return None
        later = job.attempts[attempt.number :]
        restart_us = None
        if later and later[0].running_us is not None:
            restart_us = later[0].running_us - later[0].requested_us
        begin_us, end_us = attempt.running_us, attempt.ended_us
        if begin_us is None:
            return cls(0, restart_us=restart_us)
        if attempt.saved_us is not None:
            writes_us = [attempt.saved_us]
        known_us = [*writes_us, *([attempt.reported_us] if attempt.reported_us else [])]
        saved_us = max((each for each in known_us if begin_us <= each <= end_us), default=None)
        if saved_us is not None:
            return cls(end_us - saved_us, restart_us=restart_us)
        if any(each > end_us for each in writes_us):
            return cls(None, restart_us=restart_us)
        return cls(end_us - begin_us, is_all=True, restart_us=restart_us)

    def words(self) -> str:
        """For the end of a sentence; empty: nothing is known."""
        parts = []
        if self.work_us is not None and self.is_all:
            parts.append(f"{duration_words(self.work_us)} of work lost, all since its start")
        elif self.work_us is not None:
            parts.append(f"{duration_words(self.work_us)} of work lost since its last checkpoint")
        if self.restart_us is not None:
            parts.append(f"{duration_words(self.restart_us)} to start again")
        return "".join(f"; {part}" for part in parts)


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
