"""A job of the live cluster: its specification, its attempts and its state."""

from __future__ import annotations

from dataclasses import dataclass, field

from motet.live.jobs.attempt import Attempt, AttemptOutcome, AttemptPhase, StopCause
from motet.live.jobs.job_spec import JobSpec
from motet.live.jobs.job_state import JobState


@dataclass(frozen=True, slots=True)
class ReportedProgress:
    """`steps_done`: of a training, epochs. `loss`: the last known one."""

    steps_done: float
    loss: float | None


@dataclass(slots=True)
class LiveJob:
    """`number`: the id. `submitted_us`, `ended_us`: Unix time. `end`: the final state, set before
    its last process has ended if the user cancels it. `reason`: of a failure, for people.
    `progress`: as far as the job has reported it. `is_held`: the engine does not know it yet.
    """

    number: int
    spec: JobSpec
    user: str
    submitted_us: int
    attempts: list[Attempt] = field(default_factory=list)
    is_suspended: bool = False
    end: JobState | None = None
    ended_us: int | None = None
    reason: str = ""
    progress: ReportedProgress | None = None
    is_held: bool = False

    @property
    def attempt(self) -> Attempt | None:
        """The attempt whose processes may still run."""
        last = self.attempts[-1] if self.attempts else None
        return None if last is None or last.has_ended else last

    @property
    def failures(self) -> int:
        """Attempts that failed by the command itself."""
        return sum(attempt.outcome is AttemptOutcome.FAILED for attempt in self.attempts)

    @property
    def state(self) -> JobState:
        """The state that users see."""
        if self.end is not None:
            return self.end
        if self.is_suspended:
            return JobState.SUSPENDED
        if (attempt := self.attempt) is not None:
            return _STATES[attempt.phase]
        if self.attempts and self.attempts[-1].stop_cause is StopCause.PREEMPTED:
            return JobState.PREEMPTED
        return JobState.PENDING


_STATES = {
    AttemptPhase.REQUESTED: JobState.STARTING,
    AttemptPhase.RUNNING: JobState.RUNNING,
    AttemptPhase.STOPPING: JobState.RUNNING,
}
