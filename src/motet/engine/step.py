"""The scheduling loop: events -> state -> decision -> actions.

Every driver calls `Engine.step` with the events of one instant and executes the returned actions.
Actions are requests: the driver reports their results as events (`motet.domain.events`).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from motet.domain.actions import Action
from motet.domain.decision import Decision, SizeRefusal
from motet.domain.errors import BadInput
from motet.domain.events import Event, PolicyChanged
from motet.domain.policy import Policy
from motet.domain.snapshot import UNKNOWN, Snapshot
from motet.domain.units import NEVER_US, exact_seconds
from motet.engine.actions.checks import DecisionProblem, problem_of
from motet.engine.actions.closed_machines import naming_closed_machines
from motet.engine.actions.delays import without_delayed
from motet.engine.actions.diff import SlotChange, changes_of
from motet.engine.actions.fitting import Fitting, Overcommitted
from motet.engine.actions.granted_sizes import Proposals, looking_again, with_placed_sizes
from motet.engine.actions.preemption_limits import (
    PreemptionLimits,
    Protection,
    protection_of,
    without_early_preemptions,
)
from motet.engine.actions.queue_limits import within_queue_limits
from motet.engine.actions.requests import PendingRequests, Requests
from motet.engine.actions.slots import Slots
from motet.engine.actions.staying_jobs import StayingJobs
from motet.engine.capture import CapturedEngine
from motet.engine.measurements.job_measurements import Measurements
from motet.engine.measurements.machine_monitor import MachineMonitor
from motet.engine.policy_loading.asking import ask
from motet.engine.policy_loading.catalogue import find_policy, make_policy
from motet.engine.policy_loading.engine_settings import split_settings
from motet.engine.policy_loading.faults import BrokenPolicy, place_of_decide
from motet.engine.ports import Journal
from motet.engine.reduce import Reducer
from motet.engine.state.cluster_state import ClusterState
from motet.engine.state.partners import Partners
from motet.engine.state.proposed_sizes import TAKES_PROPOSALS
from motet.placement.planner import Planner

NO_LIMITS = PreemptionLimits()


class CheckedDecision(NamedTuple):
    """A decision within all limits, which has changed nothing yet. `snapshot`: its jobs.
    `partners`: by job, those that share its GPUs."""

    snapshot: Snapshot
    decision: Decision
    partners: Partners


class Engine:
    """Applies a policy and a placement planner to the state of one cluster.

    `policy`: the one in force. `decision` and `changes`: the decision of the last step and all
    actions that follow from it, including those that wait for slots; None and empty if the step
    made no decision. `recheck_at_us`: when a `Tick` is due. `policy_error`: what the last step
    raised because of the policy; its events are folded, and nothing else has changed.
    """

    def __init__(
        self,
        policy: Policy,
        planner: Planner,
        state: ClusterState,
        journal: Journal | None = None,
        name_of: Callable[[int], str] = str,
        measurements: Measurements | None = None,
        monitor: MachineMonitor | None = None,
        limits: PreemptionLimits = NO_LIMITS,
        *,
        checks_places: bool = False,
    ) -> None:
        """`name_of`: the job id for a job number, used in messages.

        `measurements`: with the fitters that a policy which declares `wants_estimates` needs, this
        policy or a later one. `monitor`: for a policy that declares `wants_machine_speeds`; without
        it a later policy that declares this starts without known speeds. `limits`: of preemptions,
        under this policy. `checks_places`: whether the machines that a policy names are tried
        before anything changes: for drivers that go on after a `policy_error`.
        """
        self._policy = policy
        self._name_of = name_of
        self._journal = journal
        self._limits = limits
        self._checks_places = checks_places
        self._planner = planner
        self.state = state
        self._requests = Requests(state.cluster.gpus.tolist())
        self._slots = Slots(state, planner, self._requests)
        self._monitor = monitor
        wants_estimates = policy.wants_estimates
        self._measurements = measurements or (Measurements() if wants_estimates else None)
        self._reducer = self._new_reducer()
        self.decision: Decision | None = None
        self.changes: Sequence[Action] = ()
        self.policy_error: Exception | None = None
        self.recheck_at_us = NEVER_US

    def step(self, now_us: int, events: Sequence[Event], *, may_ask: bool = True) -> list[Action]:
        """Fold the events of one instant; call the policy if one of them requires a decision.

        `may_ask`: False: the policy is not called, and no `Tick` is due.

        Returns the actions that can be executed now. An action whose slots a job still holds is
        returned by the step that receives the event of their release. Raises BrokenPolicy for an
        invalid decision, BadInput for an invalid event.
        """
        if self._journal is not None:
            self._journal.received(now_us, events)
        is_due = self._folded(now_us, events, self._change_policy)
        if not may_ask:
            self.recheck_at_us = NEVER_US
        elif is_due:
            self._decide()
        return self._requests.take()

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self._policy

    @property
    def pending(self) -> PendingRequests:
        """Requested actions that are not done."""
        return self._requests.pending

    @property
    def measurements(self) -> Measurements | None:
        """What jobs have reported; None: it is not kept."""
        return self._measurements

    def _folded(
        self, now_us: int, events: Sequence[Event], change_policy: Callable[[PolicyChanged], None]
    ) -> bool:
        """Fold the events of one instant; returns whether one of them requires a decision."""
        self.state.advance(now_us)
        self.decision, self.changes, self.policy_error = None, (), None
        is_due = False
        for event in events:
            if isinstance(event, PolicyChanged):
                change_policy(event)
                is_due = True
            else:
                is_due |= self._reducer.fold(event)
        return is_due

    # -- a decision --------------------------------------------------------------------------------

    def _decide(self) -> None:
        checked = self._checked()
        self._carry_out(checked)
        self._tell(checked.snapshot)

    def _checked(self) -> CheckedDecision:
        """What the policy decides. Changes nothing.

        Raises what the policy raises, BrokenPolicy; this is the `policy_error` then.
        """
        staying = StayingJobs.of(self.state.snapshot(), self.state.machines.closed)
        seen = self._completed(staying.hidden(), self.policy, self._monitor, self._measurements)
        snapshot = staying.whole if len(staying.rows) else seen
        try:
            return self._within_limits(staying, seen, snapshot)
        except Exception as error:
            self.policy_error = error
            raise

    def _within_limits(
        self, staying: StayingJobs, seen: Snapshot, snapshot: Snapshot
    ) -> CheckedDecision:
        """`seen`: what the policy is asked about; `snapshot`: with the jobs on closed machines,
        too."""
        state, closed = self.state, self.state.machines.closed
        asked = self._asked(seen)
        decision = staying.joined(asked, seen.jobs)
        if state.has_delays:
            delays = state.table.column("not_before_us")
            decision = without_delayed(decision, snapshot, delays)
        try:
            divides = asked.workers is not None
            decision, partners = self._feasible(decision, snapshot, staying, divides=divides)
        except Overcommitted as error:
            raise self._broken(error.problem, snapshot, self.policy) from None
        if state.has_proposals:
            decision = looking_again(decision, snapshot, self._proposals)
        if len(closed):
            decision = naming_closed_machines(decision, snapshot, state.cluster.gpus, closed)
        return CheckedDecision(snapshot, decision, partners)

    def _carry_out(self, checked: CheckedDecision) -> None:
        """Store the policy's memory, allocate slots, and request actions."""
        state, decision, snapshot = self.state, checked.decision, checked.snapshot
        state.remember(decision.memory)
        changes = self._changes(decision, snapshot, checked.partners)
        try:
            self.changes = self._slots.carry_out(changes, decision, snapshot, checked.partners)
        except Overcommitted as error:
            raise self._broken(error.problem, snapshot, self.policy) from None
        state.table.column("wait_code")[:] = decision.reasons.code
        self.decision, self.recheck_at_us = decision, decision.recheck_at_us

    def _tell(self, snapshot: Snapshot) -> None:
        if self._journal is not None and self.decision is not None:
            self._journal.decided(snapshot.now_us, snapshot, self.decision, self.changes)

    def _asked(self, snapshot: Snapshot) -> Decision:
        """The policy's decision. Raises BrokenPolicy."""
        decision = ask(self.policy, snapshot)
        problem = problem_of(decision, snapshot, has_elastic=self.state.has_elastic)
        if problem is not None:
            raise self._broken(problem, snapshot, self.policy)
        return decision

    def _feasible(
        self, wanted: Decision, snapshot: Snapshot, staying: StayingJobs, *, divides: bool
    ) -> tuple[Decision, Partners]:
        """The decision within the limits of preemptions, queues and machines, and the jobs that
        share GPUs. `divides`: whether the policy has chosen the sizes of elastic jobs.

        A job that a queue's guarantee lets run, but that lacks CPUs or memory, does not run in the
        place of others: the limits are applied again without it.
        """
        excluded: set[int] = set()
        while True:
            decision = self._limited(wanted, snapshot, staying, excluded)
            if self.state.has_proposals:
                closed_by = SizeRefusal.CHOSEN_BY_POLICY if divides else None
                place = partial(self._placed, snapshot=snapshot)
                granted = decision, snapshot, self._proposals, staying, place
                decision = with_placed_sizes(*granted, closed_by)
            fitted = self._fitted(decision, snapshot)
            if not snapshot.queues.are_limited:
                return fitted, Partners(fitted, snapshot.jobs)
            lacks = (decision.gpus > 0) & (fitted.gpus == 0) & (wanted.gpus == 0)
            more = {*np.flatnonzero(lacks).tolist()} - excluded
            if not more:  # Also if the limits let a job run that is excluded.
                return fitted, Partners(fitted, snapshot.jobs)
            excluded |= more

    def _limited(
        self,
        decision: Decision,
        snapshot: Snapshot,
        staying: StayingJobs,
        excluded: Container[int],
    ) -> Decision:
        if snapshot.queues.are_limited:
            protection = self._protection(snapshot)
            may_overtake = self.policy.may_overtake
            return within_queue_limits(
                decision, snapshot, protection, staying, excluded, may_overtake=may_overtake
            )
        if self._limits:
            return without_early_preemptions(decision, snapshot, self._protection(snapshot))
        return decision

    @property
    def _proposals(self) -> Proposals:
        column = self.state.table.column
        rows = np.flatnonzero(column(TAKES_PROPOSALS))
        return Proposals(rows, column("proposed_workers"), column("proposed_servers"))

    def _placed(self, decision: Decision, snapshot: Snapshot) -> Decision:
        """Raises Overcommitted."""
        partners = Partners(decision, snapshot.jobs)
        changes = self._changes(decision, snapshot, partners)
        closed = self.state.machines.closed
        return Fitting(snapshot, decision, self._planner, closed).fit(changes, partners)

    def _fitted(self, decision: Decision, snapshot: Snapshot) -> Decision:
        """Raises Overcommitted."""
        state = self.state
        has_limits = state.has_demands or len(state.machines.closed) > 0
        if not (has_limits or (self._checks_places and decision.places)):
            return decision
        fitted = self._placed(decision, snapshot)
        return fitted if has_limits else decision

    def try_policy(self, policy: Policy) -> None:
        """Ask a policy for a decision about the present state, which changes nothing.

        Raises what stands against putting it in force: BadInput, BrokenPolicy.
        """
        monitor = self._monitor or MachineMonitor(self.state.cluster.size)
        staying = StayingJobs.of(self.state.snapshot(), self.state.machines.closed)
        measurements = self._measurements and self._measurements.copy()
        snapshot = self._completed(staying.hidden(), policy, monitor, measurements)
        rows = len(snapshot.jobs)
        memory = {name: np.full(rows, value) for name, value in policy.memory_columns.items()}
        snapshot = replace(snapshot, memory=memory)
        problem = problem_of(ask(policy, snapshot), snapshot, has_elastic=self.state.has_elastic)
        if problem is not None:
            raise self._broken(problem, snapshot, policy)

    def _completed(
        self,
        snapshot: Snapshot,
        policy: Policy,
        monitor: MachineMonitor | None,
        measurements: Measurements | None,
    ) -> Snapshot:
        """With the estimates and measurements that the policy declares."""
        if measurements is not None and policy.wants_estimates:
            snapshot = replace(snapshot, estimates=measurements.estimates(snapshot.jobs))
        if monitor is not None and policy.wants_machine_speeds:
            snapshot = replace(snapshot, machine_speeds=monitor.speeds)
        return snapshot

    def _changes(
        self, decision: Decision, snapshot: Snapshot, partners: Partners
    ) -> list[SlotChange]:
        state = self.state
        return changes_of(
            decision,
            snapshot,
            partners,
            has_elastic=state.has_elastic,
            has_shared=state.has_shared,
        )

    def _protection(self, snapshot: Snapshot) -> Protection:
        columns = (self.state.table.column(name) for name in ("running_since_us", "preempted_us"))
        return protection_of(snapshot, self._limits, *columns)

    def _broken(self, problem: DecisionProblem, snapshot: Snapshot, policy: Policy) -> BrokenPolicy:
        when = f"at {exact_seconds(snapshot.now_us)} s"
        if problem.row != UNKNOWN:
            when += f", job {self._name_of(int(snapshot.jobs.number[problem.row]))}"
        return BrokenPolicy(f"{place_of_decide(type(policy))}: {when}: {problem.text}")

    def _change_policy(self, event: PolicyChanged) -> None:
        policy, limits = self._made(event)
        self.state.change_memory(dict(policy.memory_columns))
        self._policy, self._limits = policy, limits
        if policy.wants_machine_speeds:
            self._watch_machines()

    def _made(self, event: PolicyChanged) -> tuple[Policy, PreemptionLimits]:
        name, kind = find_policy(event.policy)
        own, limits = split_settings(event.settings)
        policy = make_policy(name, kind, own)
        if policy.wants_estimates and self._measurements is None:
            raise BadInput(
                f"{name} requires estimates, but goals and losses of jobs were not kept so far; "
                "create the engine with measurements (fitted_measurements())"
            )
        return policy, limits

    def _watch_machines(self) -> None:
        """Keep speeds of machines, from now on if they were not kept so far."""
        if self._monitor is None:
            self._monitor = MachineMonitor(self.state.cluster.size)
            self._reducer = self._new_reducer()

    def _new_reducer(self) -> Reducer:
        return Reducer(self.state, self._slots, self._requests, self._measurements, self._monitor)

    # -- capture and restore -----------------------------------------------------------------------

    def capture(self) -> CapturedEngine:
        """The present state; all actions must have been executed."""
        assert self._requests.are_settled, "some actions have not been executed"
        return CapturedEngine(
            self.state.capture(),
            self.recheck_at_us,
            deepcopy(self._measurements),
            self._monitor and self._monitor.copy(),
        )

    def restore(self, captured: CapturedEngine) -> None:
        """Continue from the state of another engine of the same cluster; the policy may differ."""
        self.state.restore(captured.state)
        self.recheck_at_us = captured.recheck_at_us
        if captured.measurements is not None:
            self._measurements = deepcopy(captured.measurements)
        if captured.monitor is not None:
            self._monitor = captured.monitor.copy()
        for job, placement in self.state.placements.items():
            self._requests.adopt(job, placement, self.state.sharing.others(job))
        self._reducer = self._new_reducer()

    def continue_with(self, pending: PendingRequests) -> None:
        """After `restore`: these actions of the other engine are not done."""
        self._requests.continue_with(pending)
