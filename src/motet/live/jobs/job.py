"""A job of the live cluster: its specification, its attempts and its state; arrays of jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from motet.domain.units import written_duration
from motet.live.jobs.attempt import Attempt, AttemptOutcome, AttemptPhase, StopCause
from motet.live.jobs.failure_class import FailureClass
from motet.live.jobs.job_spec import JobSpec
from motet.live.jobs.job_state import JobState


@dataclass(frozen=True, slots=True)
class ReportedProgress:
    """`steps_done`: of a training, epochs. `loss`: the last known one."""

    steps_done: float
    loss: float | None


@dataclass(frozen=True, slots=True)
class ProposedSize:
    """The latest size that a training proposed for itself. `attempt`: which one did, at `at_us`.

    `gain`: the part of the time of an epoch that it would save.
    """

    attempt: int
    number: int
    workers: int
    servers: int
    gain: float
    at_us: int


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A user changed a field of a job's specification; the values are as in job files."""

    at_us: int
    user: str
    field: str
    before: str
    after: str


@dataclass(slots=True)
class LiveJob:
    """`number`: the id. `submitted_us`, `ended_us`: Unix time. `end`: the final state, set before
    its last process has ended if the user cancels it. `unheard_us`: how long after `ended_us` the
    master heard of the end. `reason`: of a failure, for people.
    `progress`: as far as the job has reported it. `proposal`: of its size. `is_held`: the engine
    does not know it yet, `released_us`: since when it knows a job that was held, None: never, or
    from the submission on.
    `array`: to which the job belongs, with the number `index`. `trial_s`: the job is a trial, which
    has succeeded when it has run so long; 0: it is none. `is_timed_out`: it has run for its
    `max_duration`, and ends when its processes have. `failed_trial`: its trial, if the job has
    failed by it; 0: it has not. `changes`: of its specification. `model`: bytes of the model that
    it trains on the cluster's Aggregators, and of its largest tensor; None: unknown. `accepted`:
    `spec` as it was submitted.
    """

    number: int
    spec: JobSpec
    user: str
    submitted_us: int
    attempts: list[Attempt] = field(default_factory=list)
    is_suspended: bool = False
    end: JobState | None = None
    ended_us: int | None = None
    unheard_us: int = 0
    reason: str = ""
    progress: ReportedProgress | None = None
    proposal: ProposedSize | None = None
    is_held: bool = False
    released_us: int | None = None
    array: JobArray | None = field(default=None, repr=False, compare=False)
    index: int = 0
    trial_s: float = 0.0
    is_timed_out: bool = False
    failed_trial: int = 0
    changes: list[FieldChange] = field(default_factory=list, repr=False)
    model: tuple[int, int] | None = None
    accepted: JobSpec = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.accepted = self.spec

    @property
    def attempt(self) -> Attempt | None:
        """The attempt whose processes may still run."""
        last = self.attempts[-1] if self.attempts else None
        return None if last is None or last.has_ended else last

    def latest_of(self, began: int) -> Attempt:
        """The latest attempt with the processes that began with this one."""
        return next(each for each in reversed(self.attempts) if each.began == began)

    def ranks_of(self, attempt: Attempt) -> int:
        """Processes that one of its attempts has had: one for each slot, or for each machine."""
        if attempt.roster is not None:
            return len(attempt.roster.machines)
        is_by_machine = self.spec.is_by_machine
        return len(attempt.placement.machines) if is_by_machine else attempt.processes

    @property
    def known_end_us(self) -> int | None:
        """When the master knew that it has ended; None: it has not."""
        return None if self.ended_us is None else self.ended_us + self.unheard_us

    def queue_at(self, time_us: int) -> str:
        """The queue in which it was then."""
        later = (it for it in self.changes if it.field == "queue" and it.at_us > time_us)
        change = next(later, None)
        return self.spec.queue if change is None else change.before

    @property
    def idle_since_us(self) -> int | None:
        """Since when its processes write nothing, if that is long ago; None while they are being
        stopped."""
        attempt = self.attempt
        if attempt is None or attempt.phase is not AttemptPhase.RUNNING:
            return None
        return attempt.idle_since_us

    def ran_us(self, now_us: int) -> int:
        """For how long all processes of one of its attempts ran, until now."""
        return sum(each.ran_us(now_us) for each in self.attempts)

    @property
    def has_timed_out(self) -> bool:
        """Whether its limit of running time has ended it."""
        is_late = any(it.failure == FailureClass.TIME_LIMIT.key for it in self.attempts[-1:])
        return self.end is JobState.FAILED and is_late

    def stop_cause(self, *, has_lost_machine: bool) -> StopCause:
        """Why its attempt is stopped that the engine preempts."""
        if self.end is JobState.CANCELLED:
            return StopCause.CANCELLED
        if self.end is JobState.SUCCEEDED:
            return StopCause.TRIAL_PASSED
        if self.is_timed_out:
            return StopCause.TIME_LIMIT
        if self.is_suspended:
            return StopCause.SUSPENDED
        return StopCause.MACHINE_LOST if has_lost_machine else StopCause.PREEMPTED

    @property
    def title(self) -> str:
        """Its name; `sweep[0]` of an array, whose jobs have one name."""
        return f"{self.spec.name}[{self.index}]" if self.array else self.spec.name

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


@dataclass(slots=True)
class JobArray:
    """Jobs that were submitted as one: one experiment, one row in lists. `number`: its id, which no
    job has.

    `jobs`: by index. `most_open`: how many of them may be unfinished once they have been released,
    `open`: how many are; `ready`: those that only wait for that. `since_us`: when the first was
    released: all of them have its place in line.
    """

    number: int
    name: str
    user: str
    submitted_us: int
    most_open: int | None
    jobs: list[LiveJob] = field(default_factory=list)
    ready: dict[int, LiveJob] = field(default_factory=dict, repr=False)
    open: int = 0
    since_us: int | None = None

    @property
    def counts(self) -> dict[JobState, int]:
        """How many jobs have each state; states without a job are left out."""
        found = Counter(job.state for job in self.jobs)
        return {state: found[state] for state in JobState if found[state]}

    @property
    def state(self) -> JobState:
        """The first of these that a job has: running, waiting in any way, failed, cancelled."""
        counts = self.counts
        return next(state for state in _OF_ARRAYS if state in counts)

    @property
    def processes(self) -> int:
        """Of the jobs that hold slots; while none does, what all jobs request."""
        attempts = [job.attempt for job in self.jobs if job.attempt is not None]
        if not attempts:
            return sum(job.spec.processes for job in self.jobs)
        return sum(attempt.processes for attempt in attempts)

    @property
    def ended_us(self) -> int | None:
        """When its last job ended; None: it has not."""
        return self._latest(job.ended_us for job in self.jobs)

    @property
    def known_end_us(self) -> int | None:
        """When the master knew that the last of its jobs has ended; None: it has not."""
        return self._latest(job.known_end_us for job in self.jobs)

    def _latest(self, ends_us: Iterable[int | None]) -> int | None:
        known = [each for each in ends_us if each is not None]
        return max(known) if len(known) == len(self.jobs) else None

    @property
    def releasable(self) -> list[LiveJob]:
        """Jobs that can be released now."""
        ready = [*self.ready.values()]
        return ready if self.most_open is None else ready[: max(self.most_open - self.open, 0)]


_OF_ARRAYS = (
    *(JobState.RUNNING, JobState.STARTING, JobState.PREEMPTED, JobState.PENDING),
    *(JobState.SUSPENDED, JobState.FAILED, JobState.CANCELLED, JobState.SUCCEEDED),
)


def field_changes(at_us: int, user: str, before: JobSpec, after: JobSpec) -> Iterator[FieldChange]:
    """The differences between a specification and its update."""
    texts = [
        ("priority", *(str(spec.priority) for spec in (before, after))),
        ("queue", *(spec.queue for spec in (before, after))),
        ("max_duration", *(_limit(spec.max_duration) for spec in (before, after))),
    ]
    for name, old, new in texts:
        if old != new:
            yield FieldChange(at_us, user, name, old, new)


def _limit(longest_s: float | None) -> str:
    return "none" if longest_s is None else written_duration(longest_s)
