"""The master without threads and processes: inputs in, durable records and requests out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any, get_args

from motet import __version__
from motet.domain.actions import Action
from motet.domain.errors import BadInput, MotetError
from motet.domain.events import (
    Event,
    PolicyChanged,
    RemainingMeasured,
    Tick,
    event_to_json,
)
from motet.domain.units import NEVER_US, SECOND_US
from motet.engine.policy_loading.faults import failure_text
from motet.engine.rehearsal import rehearse_policy
from motet.live.jobs.job import LiveJob
from motet.live.journal.divergence import Divergence
from motet.live.journal.record import Record
from motet.live.journal.recorded_step import actions_text, decision_text
from motet.live.journal.store import JournalStore
from motet.live.launcher.messages import LauncherRequest
from motet.live.master.cluster_changes import BeginDrain
from motet.live.master.facts import (
    AttemptOver,
    ClusterDeclared,
    Fact,
    JobFact,
    JobUpdated,
    PolicyFailed,
    facts_to_json,
)
from motet.live.master.intake import ChoosePolicy, Input, intake
from motet.live.master.policy_choice import is_in_force, policy_of, remaining_times
from motet.live.master.replay import FIRST_POLICY, ReplayedCluster, declared_by
from motet.live.master.requests import Workplace, requests_of, requests_of_job
from motet.live.master.submissions.submission import release_held
from motet.live.queues.queue_changes import DefineQueues
from motet.live.slots.devices import Devices, devices_text
from motet.live.time_limits.time_limit import EndAtLimit
from motet.live.time_limits.unheard_jobs import UnheardJobs
from motet.live.trials.trial_spec import EndTrial

_OF_JOBS = get_args(JobFact)
_LATEST_TICK_US = 10 * SECOND_US
"""A decision that is due is made as of the time for which the policy requested it, although the
thread is some milliseconds late: policies that decide at multiples of a quantum decide at no other
time. After a longer absence of the server the policy is asked as of now, and requests the next."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one input: a value, or the error that it met."""

    value: Any = None
    error: MotetError | None = None


@dataclass(frozen=True, slots=True)
class DurableStep:
    """One step that is durable. `decided_s`, `appended_s`: how long the decision and the journal
    took."""

    record: Record
    facts: tuple[Fact, ...]
    decided_s: float
    appended_s: float


class Master:
    """Folds inputs into engine and state; every step is durable before it is answered.

    One instance per journal. An error of the journal leaves this object ahead of the journal: the
    process must then end, and a new one continues from the journal.
    """

    def __init__(
        self,
        store: JournalStore,
        cluster: ClusterDeclared,
        workplace: Workplace,
        clock_us: Callable[[], int],
        drain_after: int = 0,
        timer_s: Callable[[], float] = float,
    ) -> None:
        """Continue a journal, or begin one. `clock_us`: Unix time. `drain_after`: see LiveState.
        `timer_s`: measures steps; by default they take no time.

        Raises BadInput if the journal is of another cluster, JournalDamaged.
        """
        records = store.records()
        first = next(records, None)
        founding = cluster if first is None else declared_by(first)
        if not cluster.has_machines_of(founding):
            raise BadInput(
                f"the journal is of {_told(founding)}, not {_told(cluster)}; start the server with "
                f"{_options(founding)}, or with another --state-dir or --database"
            )
        self._replayed = ReplayedCluster(founding)
        self.state, self._engine = self._replayed.state, self._replayed.engine
        self.state.drain_after = drain_after
        self._changed: set[int] = set()
        self._steps: list[DurableStep] = []
        self._timer_s = timer_s
        self._store, self._workplace, self._clock_us = store, workplace, clock_us
        for record in () if first is None else chain((first,), records):
            self._replayed.replay(record)
        self._unheard = UnheardJobs(self.state.active)
        if first is None:
            self._begin(cluster)

    @property
    def divergence(self) -> Divergence | None:
        """What the records of earlier formats say otherwise than this version."""
        return self._replayed.divergence

    @property
    def recheck_at_us(self) -> int:
        """When `handle` is due even without inputs."""
        ends = (at_us for at_us, _ in self._ends_of_jobs())
        return min(self._engine.recheck_at_us, self.state.drains.next_due_us, *ends)

    @property
    def pending_requests(self) -> list[LauncherRequest]:
        """Everything that a new launcher has to do."""
        return requests_of(self.state, self._workplace)

    def policy_at_start(self, policy: ChoosePolicy | None) -> ChoosePolicy:
        """The policy that `choose_first` leaves in force."""
        present = self.state.policy
        if policy is None and present.policy:
            return ChoosePolicy(present.policy, present.settings)
        return policy or ChoosePolicy(FIRST_POLICY)

    def choose_first(self, policy: ChoosePolicy | None, queues: DefineQueues | None = None) -> None:
        """Put queues and policy in force with which the server was started. Raises BadInput.

        None: those that were in force before; in a new journal, FIRST_POLICY. A policy that is in
        force, but has failed, is tried again; if it fails again, it stays failed.
        """
        if policy is None and not self.state.policy.policy:
            policy = self.policy_at_start(None)
        first: list[Input] = [each for each in (queues, policy) if each is not None]
        self._require_policy(first)
        answers = self.handle(first)[0] if first else []
        for given, answer in zip(first, answers, strict=True):
            if answer.error is not None and not self._has_failed(given):
                raise answer.error
        if self._has_policy and self._engine.decision is None:
            self._replayed.consider()

    def _has_failed(self, given: Input) -> bool:
        """Whether this is the policy in force, which decides no more."""
        state = self.state
        is_same = isinstance(given, ChoosePolicy) and is_in_force(
            state, given.policy, given.settings
        )
        return is_same and bool(state.policy_failure)

    def handle(self, inputs: Sequence[Input]) -> tuple[list[Answer], list[LauncherRequest]]:
        """One step: replies in the order of the inputs, and requests for the launcher.

        Raises MasterSuperseded or an error of the database; no reply may be given then.
        """
        now_us = max(self._clock_us(), self._engine.state.now_us)
        touched: set[int] = set()
        due_us = self._engine.recheck_at_us if self._has_policy else NEVER_US
        if now_us - _LATEST_TICK_US <= due_us < now_us:
            touched |= self._record_step(due_us, [], [Tick()])
        due: list[Input] = [BeginDrain(name) for name in self.state.drains.due(now_us)]
        due += [end for at_us, end in self._ends_of_jobs() if at_us <= now_us]
        facts, events, replies = self._take_in(now_us, [*due, *inputs])
        del replies[: len(due)]
        if now_us >= self._engine.recheck_at_us:
            events.append(Tick())
        if facts or events:
            touched |= self._record_step(now_us, facts, events)
        jobs = [self.state.jobs[number] for number in sorted(touched)]
        return replies, [
            request for job in jobs for request in requests_of_job(self.state, job, self._workplace)
        ]

    def _ends_of_jobs(self) -> Iterator[tuple[int, EndTrial | EndAtLimit]]:
        """When trials and jobs with a limit have run long enough."""
        later = self._unheard.not_before_us
        for job, at_us in self.state.trials.ends():
            yield max(at_us, later(job)), EndTrial(job)
        for job, at_us in self.state.limits.ends():
            yield max(at_us, later(job)), EndAtLimit(job)

    def take_changed(self) -> list[LiveJob]:
        """The jobs that facts and decisions have changed since the last call."""
        changed, self._changed = self._changed, set()
        return [self.state.jobs[number] for number in sorted(changed)]

    def take_steps(self) -> list[DurableStep]:
        """The steps since the last call."""
        steps, self._steps = self._steps, []
        return steps

    @property
    def _has_policy(self) -> bool:
        """Whether the policy in force is there to decide, and has not failed."""
        with suppress(MotetError):
            return not self.state.policy_failure and self._engine.policy is not None
        return False

    def _require_policy(self, first: Sequence[Input]) -> None:
        """Raises BadInput if the policy that the journal has in force cannot decide, and no other
        one is chosen. A user's file may have changed since it decided last. One that has failed
        does not decide."""
        if self.state.policy_failure or any(isinstance(each, ChoosePolicy) for each in first):
            return
        try:
            policy = self._engine.policy
            if self.state.policy.policy.endswith(".py"):
                self._engine.try_policy(policy)
        except MotetError as error:
            raise BadInput(
                f"{error}; this policy is in force in the journal: put the file in order, or start "
                "the server with another one, --policy NAME"
            ) from error

    def _record_step(self, now_us: int, facts: list[Fact], events: list[Event]) -> set[int]:
        """Make a step durable; returns the jobs whose processes it concerns."""
        events[:0] = self._remaining_times(now_us, facts, events)
        began_s = self._timer_s()
        try:
            actions = self._replayed.step(now_us, events)
        except Exception as error:
            actions = self._step_without_policy(now_us, facts, error)
        decided_s = self._timer_s()
        record = self._record(now_us, facts, events, actions)
        self._store.append([record])
        spent_s = decided_s - began_s, self._timer_s() - decided_s
        self._steps.append(DurableStep(record, tuple(facts), *spent_s))
        self._changed |= {fact.job for fact in facts if isinstance(fact, _OF_JOBS)}
        self._changed |= {action.job for action in actions}
        # A job that is moved begins its next attempt when the one before is over.
        over = {fact.job for fact in facts if isinstance(fact, AttemptOver)}
        return over | {action.job for action in actions}

    def _step_without_policy(
        self, now_us: int, facts: list[Fact], error: Exception
    ) -> list[Action]:
        """The rest of a step in which the policy failed: jobs keep their slots, none gets others.

        Raises an error that is not the policy's.
        """
        if error is not self._engine.policy_error:
            raise error
        failed = PolicyFailed(failure_text(error))
        self.state.fold(now_us, failed)
        facts.append(failed)
        return self._replayed.rest_of_step(now_us)

    # -- one step ----------------------------------------------------------------------------------

    def _take_in(
        self, now_us: int, inputs: Sequence[Input]
    ) -> tuple[list[Fact], list[Event], list[Answer]]:
        """Fold the facts of every input, one after another; a refused input has none."""
        facts: list[Fact] = []
        events: list[Event] = []
        replies: list[Answer] = []
        for each in inputs:
            try:
                found = intake(self.state, now_us, each)
                self._unheard.hear(each, now_us)
                if found.facts and isinstance(each, ChoosePolicy):
                    self._try_policy(now_us, each)
            except MotetError as error:
                replies.append(Answer(error=error))
                continue
            for fact in found.facts:
                self.state.fold(now_us, fact)
            facts += found.facts
            events += found.events
            replies.append(Answer(found.reply))
        self._release_held(now_us, facts, events)
        return facts, events, replies

    def _try_policy(self, now_us: int, chosen: ChoosePolicy) -> None:
        """Raises what stands against putting it in force."""
        policy, state = policy_of(chosen.policy, chosen.settings), self._engine.state
        if not len(state.jobs):
            rehearse_policy(policy, state.cluster, now_us, state.queues)
        self._engine.try_policy(policy)

    def _release_held(self, now_us: int, facts: list[Fact], events: list[Event]) -> None:
        """A job that is cancelled with its dependency may be the dependency of others."""
        while (found := release_held(self.state, now_us)).facts:
            for fact in found.facts:
                self.state.fold(now_us, fact)
            facts += found.facts
            events += found.events

    def _remaining_times(
        self, now_us: int, facts: Sequence[Fact], events: Sequence[Event]
    ) -> tuple[RemainingMeasured, ...]:
        """Events that tell a policy which needs them the remaining times of jobs."""
        changes, state = any(isinstance(e, PolicyChanged) for e in events), self._engine.state
        if not (changes or (self._has_policy and self._engine.policy.knows_durations)):
            return ()
        passed_us = now_us - state.now_us
        updated = {fact.job for fact in facts if isinstance(fact, JobUpdated)}
        jobs = self.state.jobs
        return remaining_times(jobs, state.jobs, passed_us, of_all=changes, updated=updated)

    def _record(
        self, now_us: int, facts: Sequence[Fact], events: Sequence[Event], actions: Sequence[Action]
    ) -> Record:
        return Record(
            self._store.next_sequence,
            now_us,
            json.dumps([event_to_json(event) for event in events], separators=(",", ":")),
            facts_to_json(facts),
            actions_text(actions),
            __version__,
            decision_text(self._replayed.decision, actions),
        )

    # -- the journal -------------------------------------------------------------------------------

    def _begin(self, cluster: ClusterDeclared) -> None:
        now_us = self._clock_us()
        self.state.fold(now_us, cluster)
        actions = self._replayed.step(now_us, [])
        self._store.append([self._record(now_us, [cluster], [], actions)])


def _told(cluster: ClusterDeclared) -> str:
    if cluster.joins:
        return "a Ray cluster (--address)"
    return "a cluster with machines " + ", ".join(
        f"{name} ({slots} slot{'' if slots == 1 else 's'}{_gpus(cluster.devices_of(machine))})"
        for machine, (name, slots) in enumerate(zip(cluster.names, cluster.slots, strict=True))
    )


def _options(cluster: ClusterDeclared) -> str:
    """How a server of this cluster is started."""
    if cluster.joins:
        return "--head or --address, as before"
    option = f"--cluster {len(cluster.slots)}x{cluster.usual_slots}"
    return f"{option} --gpus {','.join(cluster.devices)}" if cluster.devices else option


def _gpus(devices: Devices) -> str:
    return f": GPUs {devices_text(devices)}" if devices else ""
