"""The state of the live cluster beside the engine's: a fold over facts and actions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import assert_never

from motet.domain.actions import Action, Migrate, Preempt, Start
from motet.domain.errors import BadInput, NotFound, UnknownName
from motet.live.jobs.attempt import Attempt, AttemptOutcome, AttemptPhase, StopCause
from motet.live.jobs.held_jobs import HeldJobs
from motet.live.jobs.job import JobArray, LiveJob, ProposedSize, ReportedProgress, field_changes
from motet.live.jobs.job_file import job_spec
from motet.live.jobs.job_state import JobState
from motet.live.master.decision_history import DecisionHistory
from motet.live.master.facts import (
    ArrayAccepted,
    AttemptIdle,
    AttemptOver,
    AttemptRan,
    ClusterDeclared,
    ClusterReached,
    DependencyFailed,
    DrainBegan,
    Fact,
    GangResized,
    JobAccepted,
    JobChanged,
    JobFact,
    JobProgressed,
    JobReleased,
    JobUpdated,
    MachineCondition,
    MachineDrained,
    MachineNoted,
    MachineResumed,
    MemoryBorrowed,
    ModelSeen,
    PolicyChosen,
    PolicyFailed,
    SizeSuggested,
    TimeLimitReached,
    TrialPassed,
    Verb,
)
from motet.live.master.machine_drains import (
    MachineDrains,
    Outage,
    failing_machine,
    with_refusal,
)
from motet.live.queues.queue_book import QueueBook
from motet.live.queues.queue_facts import (
    QueueCreated,
    QueueDeleted,
    QueueLimitsSet,
    QueueModeSet,
)
from motet.live.slots.devices import HeldDevices
from motet.live.slots.roster import Roster
from motet.live.slots.slot_history import SlotHistory
from motet.live.time_limits.running_limits import RunningLimits
from motet.live.time_limits.time_limit import stop_grace_s, with_limit
from motet.live.trials.open_trials import OpenTrials


class LiveState:
    """Jobs, attempts and policies. `policies`: since when each was in force, the last one is.

    `policy_failure`: why the policy in force decides no more; empty if it does.
    `held`: jobs that the engine does not know yet; `trials`: those that have not ended. `limits`:
    of the running time of jobs. `arrays`: by id; no job has the id of an array.
    `active`: jobs with an attempt that has not ended; `slot_history`: which attempts held slots
    when; `history`: what the engine decided.
    `queue_book`: the queues and their limits; `open_jobs`: how many jobs have not ended, by queue.
    `conditions`: of the machines, `drains`: those that were drained; `drain_after`: failures in a
    row that drain a machine, 0: none do. `refusal`: why a joined cluster cannot be reached, empty
    if it can; `outages`: when it could not.
    """

    def __init__(self) -> None:
        self.cluster: ClusterDeclared | None = None
        self.declared: ClusterDeclared | None = None
        self.conditions: list[MachineCondition] = []
        self.refusal, self.outages = "", tuple[Outage, ...]()
        self.queue_book, self.open_jobs = QueueBook(), Counter[str]()
        self.drains = MachineDrains()
        self.drain_after = 0
        self.policies: list[tuple[int, PolicyChosen]] = []
        self.policy_failure = ""
        self.jobs: dict[int, LiveJob] = {}
        self.active: dict[int, LiveJob] = {}
        self.slot_history = SlotHistory()
        self.held, self.trials = HeldJobs(), OpenTrials()
        self.limits = RunningLimits()
        self.arrays: dict[int, JobArray] = {}
        self.history = DecisionHistory()
        self._by_key: dict[tuple[str, str], int] = {}
        self._moves: dict[int, tuple[Migrate, Sequence[int]]] = {}
        self._devices = HeldDevices()

    @property
    def queues(self) -> tuple[str, ...]:
        """Names of the queues by number, also of deleted ones."""
        return self.queue_book.every

    @property
    def policy(self) -> PolicyChosen:
        """The policy in force."""
        return self.policies[-1][1] if self.policies else PolicyChosen("", {})

    @property
    def next_job(self) -> int:
        """The id of the next job or array."""
        return len(self.jobs) + len(self.arrays) + 1

    def job(self, number: int) -> LiveJob:
        """The job of an id that a user gave. Raises NotFound, BadInput for an array."""
        if number in self.arrays:
            jobs = self.arrays[number].jobs
            raise BadInput(
                f"{number} is an array of jobs; give one of them, {jobs[0].number} to "
                f"{jobs[-1].number}"
            )
        if number not in self.jobs:
            raise NotFound(f"there is no job {number}")
        return self.jobs[number]

    def jobs_of(self, number: int) -> list[LiveJob]:
        """The job of an id that a user gave, or all jobs of an array. Raises NotFound."""
        found = self.arrays.get(number)
        return [self.job(number)] if found is None else found.jobs

    def job_of_key(self, user: str, key: str) -> int | None:
        """The job that a request with this key has submitted."""
        return self._by_key.get((user, key))

    def machines_of(self, attempt: Attempt) -> list[tuple[str, int]]:
        """Names of the machines of an attempt and numbers of processes, in the order of ranks."""
        assert self.cluster is not None
        names, place = self.cluster.names, attempt.placement
        if attempt.roster is not None:
            return [(names[machine], 1) for machine in attempt.roster.machines]
        return [(names[machine], count) for machine, count in zip(*place, strict=True)]

    def machine(self, name: str) -> int:
        """The number of a machine that a user named. Raises UnknownName."""
        assert self.cluster is not None
        if name not in self.cluster.names:
            raise UnknownName("machine", name, self.cluster.names)
        return self.cluster.names.index(name)

    def lost_machines(self, attempt: Attempt) -> list[str]:
        """Names of the machines of an attempt that have left."""
        assert self.cluster is not None
        return [
            self.cluster.names[machine]
            for machine in attempt.placement.machines
            if self.conditions[machine] == "gone"
        ]

    # -- facts -------------------------------------------------------------------------------------

    def fold(self, at_us: int, fact: Fact) -> None:
        """Apply a fact."""
        match fact:
            case ClusterDeclared() | MachineNoted() | ClusterReached():
                self._fold_cluster(fact)
                self.outages = with_refusal(self.outages, at_us, self.refusal)
            case MachineDrained() | DrainBegan() | MachineResumed():
                self.drains.fold(at_us, fact)
            case PolicyChosen():
                self.policies.append((at_us, fact))
                self.policy_failure = ""
            case PolicyFailed(message):
                self.policy_failure = message
            case QueueCreated() | QueueLimitsSet() | QueueModeSet() | QueueDeleted():
                self.queue_book.fold(fact)
            case ArrayAccepted(number, name, user, key, most_open):
                self.arrays[number] = JobArray(number, name, user, at_us, most_open)
                if key:
                    self._by_key[user, key] = number
            case _:
                self._fold_job(at_us, fact)

    def _fold_job(self, at_us: int, fact: JobFact) -> None:
        match fact:
            case JobUpdated():
                self._updated(at_us, fact)
            case JobAccepted():
                self._accepted(at_us, fact)
            case JobReleased(number):
                self.held.released(at_us, self.jobs[number])
            case DependencyFailed() | TrialPassed() | TimeLimitReached():
                self._settled(at_us, fact)
            case JobChanged(number, verb):
                self._changed(at_us, self.jobs[number], verb)
            case AttemptRan():
                self._ran(at_us, fact)
            case GangResized(number, attempt):
                self.jobs[number].attempts[attempt - 1].is_resizing = False
            case AttemptIdle() | JobProgressed() | SizeSuggested() | ModelSeen() | MemoryBorrowed():
                self._heard(at_us, fact)
            case AttemptOver():
                self._over(at_us, fact)

    def _fold_cluster(self, fact: ClusterDeclared | MachineNoted | ClusterReached) -> None:
        match fact:
            case ClusterDeclared():
                self.cluster = self.declared = fact
                self.conditions = ["up"] * len(fact.names)
                self.refusal = "it has not answered yet" if fact.joins else ""
            case MachineNoted():
                self._noted(fact)
            case ClusterReached(refusal):
                self.refusal = refusal

    def _noted(self, fact: MachineNoted) -> None:
        cluster = self.cluster
        assert cluster is not None
        if fact.name not in cluster.names:
            self.cluster = cluster.with_machine(fact)
            self.conditions.append(fact.condition)
            return
        number = cluster.names.index(fact.name)
        self.conditions[number] = fact.condition
        self.cluster = cluster.with_devices(number, fact.devices)
        if fact.cpus or fact.memory_bytes:
            self.cluster = self.cluster.with_size(number, fact.cpus, fact.memory_bytes)

    def _accepted(self, at_us: int, fact: JobAccepted) -> None:
        job = LiveJob(fact.job, job_spec(fact.spec), fact.user, at_us, trial_s=fact.trial_s)
        self.jobs[job.number] = job
        if job.trial_s:
            self.trials.add(job)
        self.open_jobs[job.spec.queue] += 1
        if fact.key:
            self._by_key[fact.user, fact.key] = job.number
        if fact.array:
            job.array, job.index = self.arrays[fact.array], fact.index
            job.array.jobs.append(job)
        if job.spec.after or fact.array:
            self.held.add(job, [self.arrays.get(it) or self.jobs[it] for it in job.spec.after])

    def _end(self, ended_us: int, job: LiveJob, end: JobState, unheard_us: int = 0) -> None:
        if job.end is None:
            self.open_jobs[job.spec.queue] -= 1
        job.end, job.ended_us, job.unheard_us = end, ended_us, unheard_us
        self.held.ended(job)
        self.trials.ended(job)

    def _settled(self, at_us: int, fact: DependencyFailed | TrialPassed | TimeLimitReached) -> None:
        """How a job ends is known, although no process of it has ended."""
        job = self.jobs[fact.job]
        if isinstance(fact, TimeLimitReached):
            job.is_timed_out = True
            self.limits.stops(job)
            return
        if isinstance(fact, TrialPassed):
            self._end(at_us, job, JobState.SUCCEEDED)
            return
        job.reason, job.failed_trial = fact.reason, fact.trial
        self._end(at_us, job, JobState.FAILED if fact.trial else JobState.CANCELLED)

    def _updated(self, at_us: int, fact: JobUpdated) -> None:
        changes = {"priority": fact.priority, "queue": fact.queue}
        given = {name: value for name, value in changes.items() if value is not None}
        job = self.jobs[fact.job]
        before = job.spec
        self.open_jobs[before.queue] -= 1
        job.spec = before.model_copy(update=given)
        self.open_jobs[job.spec.queue] += 1
        if fact.max_duration is not None:
            job.spec = with_limit(job.spec, fact.max_duration)
            if job.attempt is not None and job.attempt.phase is AttemptPhase.RUNNING:
                self.limits.runs(job)
        job.changes.extend(field_changes(at_us, fact.user, before, job.spec))

    def _changed(self, at_us: int, job: LiveJob, verb: Verb) -> None:
        match verb:
            case "cancel":
                self._end(at_us, job, JobState.CANCELLED)
            case "suspend":
                job.is_suspended = True
            case "resume":
                job.is_suspended = False
            case _:
                assert_never(verb)

    def _ran(self, at_us: int, fact: AttemptRan) -> None:
        job = self.jobs[fact.job]
        attempt = job.attempts[fact.attempt - 1]
        attempt.running_us = at_us if fact.since_us is None else fact.since_us
        if attempt.phase is AttemptPhase.REQUESTED:
            attempt.phase = AttemptPhase.RUNNING
            self.limits.runs(job)

    def _heard(
        self,
        at_us: int,
        fact: AttemptIdle | JobProgressed | SizeSuggested | ModelSeen | MemoryBorrowed,
    ) -> None:
        """What the processes of a job have written, and what they use."""
        match fact:
            case AttemptIdle(number, attempt, since_us):
                self.jobs[number].attempts[attempt - 1].idle_since_us = since_us
            case JobProgressed(number, steps_done, loss):
                self._progressed(at_us, self.jobs[number], steps_done, loss)
            case SizeSuggested(number, attempt, count, workers, servers, gain):
                proposal = ProposedSize(attempt, count, workers, servers, gain, at_us)
                self.jobs[number].proposal = proposal
            case ModelSeen(number, model_bytes, largest_bytes):
                self.jobs[number].model = model_bytes, largest_bytes
            case MemoryBorrowed(number, attempt, byte_s):
                self.jobs[number].attempts[attempt - 1].borrowed_byte_s |= byte_s

    def _progressed(self, at_us: int, job: LiveJob, steps_done: float, loss: float | None) -> None:
        if loss is None and job.progress is not None:
            loss = job.progress.loss
        job.progress = ReportedProgress(steps_done, loss)
        if job.attempts:
            job.attempts[-1].reported_us = at_us

    def _over(self, at_us: int, fact: AttemptOver) -> None:
        job = self.jobs[fact.job]
        attempt = job.attempts[fact.attempt - 1]
        ended_us = attempt.last_end_us(fact.exits, at_us)
        attempt.phase = AttemptPhase.ENDED
        attempt.ended_us, attempt.unheard_us = ended_us, at_us - ended_us
        attempt.outcome, attempt.exits = AttemptOutcome(fact.outcome), fact.exits
        attempt.failure, attempt.reason = fact.failure, fact.reason
        attempt.saved_us = fact.saved_us
        machines = self.machines_of(attempt)
        failed_on = failing_machine(fact.failure, fact.exits, machines)
        self.drains.attempt_ended(attempt, [name for name, _ in machines], failed_on)
        del self.active[job.number]
        self.slot_history.ended(job.number, at_us)
        self.limits.stops(job)
        self._devices.give_back(job.number, attempt.placement)
        if fact.reason or fact.end == JobState.SUCCEEDED:
            job.reason = fact.reason  # The cause of an earlier attempt's end is history then.
        if fact.end is not None:
            self._end(ended_us, job, JobState(fact.end), attempt.unheard_us)
        move = self._moves.pop(job.number, None)
        if move is not None and job.end is None:
            self._begin(at_us, job, *move)

    # -- actions -----------------------------------------------------------------------------------

    def acted(self, at_us: int, action: Action, partners: Sequence[int] = ()) -> None:
        """Apply an action of the engine: a new attempt, or the stop of the present one.

        `partners`: the other jobs on the same slots.
        """
        job = self.jobs[action.job]
        match action:
            case Start():
                self._begin(at_us, job, action, partners)
            case Preempt():
                self._moves.pop(job.number, None)
                lost = self.lost_machines(job.attempts[-1])
                self._stop(at_us, job, job.stop_cause(has_lost_machine=bool(lost)))
            case Migrate() if not partners and (found := job.attempts[-1].resized(action, at_us)):
                self.slot_history.ended(job.number, at_us)
                self._append(job, found)
            case Migrate():
                self._moves[job.number] = action, partners
                self._stop(at_us, job, job.attempts[-1].cause_of(action))

    def _begin(
        self, at_us: int, job: LiveJob, action: Start | Migrate, partners: Sequence[int]
    ) -> None:
        assert self.cluster is not None
        number, placement = len(job.attempts) + 1, action.placement
        of_machines = [self.cluster.devices_of(machine) for machine in placement.machines]
        devices = (
            self._devices.take(job.number, placement, of_machines, partners)
            if any(of_machines)
            else ()
        )
        job.reason = ""  # Why an earlier attempt ended is told with that attempt.
        can_resize = job.spec.resizes_running and not (devices or self.cluster.joins)
        roster = Roster.of(placement) if can_resize else None
        attempt = Attempt(number, placement, at_us, *action[2:4], devices, roster=roster)
        attempt.is_asynchronous = action.asynchronous
        self._append(job, attempt, partners)
        self.active[job.number] = job

    def _append(self, job: LiveJob, attempt: Attempt, partners: Sequence[int] = ()) -> None:
        job.attempts.append(attempt)
        self.slot_history.began(job.number, attempt.processes, attempt.requested_us, partners)

    def _stop(self, at_us: int, job: LiveJob, cause: StopCause) -> None:
        attempt = job.attempt
        assert attempt is not None, f"job {job.number} has no processes to stop"
        attempt.phase, attempt.stop_cause = AttemptPhase.STOPPING, cause
        attempt.stopping_us, attempt.grace_s = at_us, stop_grace_s(job, at_us)
        self.slot_history.stops(job.number, at_us)
        self.limits.stops(job)
