"""The only loop body: what happened -> what is known -> a decision -> actions.

Every driver calls `Engine.step` with the events of one instant and carries the actions out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from motet.domain.actions import Action, Migrate, Preempt, Start
from motet.domain.decision import Decision
from motet.domain.errors import MotetError
from motet.domain.policy import Policy
from motet.domain.snapshot import UNKNOWN, Placement, Snapshot
from motet.domain.units import exact_seconds
from motet.engine.checks import Problem, problem_of
from motet.engine.faults import BrokenPolicy, fault, place_of_decide
from motet.engine.fitting import Change, Fitting, Overcommitted
from motet.engine.machine_monitor import MachineMonitor
from motet.engine.measurements import Measurements
from motet.engine.ports import Journal
from motet.engine.roles import roles_of
from motet.engine.state import ClusterState
from motet.placement.planner import Planner


class Engine:
    """A policy and a planner at work on one cluster's state."""

    def __init__(
        self,
        policy: Policy,
        planner: Planner,
        state: ClusterState,
        journal: Journal | None = None,
        name_of: Callable[[int], str] = str,
        measurements: Measurements | None = None,
        monitor: MachineMonitor | None = None,
    ) -> None:
        """`name_of`: what people call the job of a number. `measurements`: with the fitters that a
        policy needs which wants estimates; the driver reports to `engine.measurements`, unless
        that is None: then nobody wants them. `monitor`: to which the driver reports of machines,
        for a policy that says `wants_machine_speeds`.
        """
        self._policy = policy
        self._name_of = name_of
        self._journal = journal
        self._planner = planner
        self.state = state
        self._monitor = monitor
        wants = policy.wants_estimates
        self.measurements = (measurements or Measurements()) if wants else None

    def decide(self) -> tuple[Decision, list[Action]]:
        """Ask the policy and bring the state to what it wants; preemptions come first.

        Raises BrokenPolicy.
        """
        snapshot = self.state.snapshot()
        if self.measurements is not None:
            snapshot = replace(snapshot, estimates=self.measurements.estimates(snapshot.jobs))
        if self._monitor is not None:
            snapshot = replace(snapshot, machine_speeds=self._monitor.speeds)
        decision = self._ask(snapshot)
        problem = problem_of(decision, snapshot, has_elastic=self.state.has_elastic)
        if problem is not None:
            raise self._broken(problem, snapshot)
        self.state.remember(decision.memory)
        if self.state.has_demands:
            decision = self._fitted(decision, snapshot)
        actions = self._carry_out(decision, snapshot)
        if self._journal is not None:
            self._journal.decided(snapshot.now_us, snapshot, decision, actions)
        return decision, actions

    def _fitted(self, decision: Decision, snapshot: Snapshot) -> Decision:
        """As far as CPUs and memory go. Raises BrokenPolicy."""
        partners = _partners(decision, snapshot)
        changes = self._changes(decision, snapshot, partners)
        try:
            return Fitting(snapshot, decision, self._planner).fit(changes, partners)
        except Overcommitted as error:
            raise self._broken(error.problem, snapshot) from None

    def _ask(self, snapshot: Snapshot) -> Decision:
        """Whatever a policy of the user's own raises names its line, sys.exit() included."""
        try:
            return self._policy.decide(snapshot)
        except MotetError:
            raise
        except (Exception, SystemExit) as error:
            found = fault(error, type(self._policy))
            if found is None:
                raise
            raise found from error

    def _broken(self, problem: Problem, snapshot: Snapshot) -> BrokenPolicy:
        when = f"at {exact_seconds(snapshot.now_us)} s"
        if problem.row != UNKNOWN:
            when += f", job {self._name_of(int(snapshot.jobs.number[problem.row]))}"
        return BrokenPolicy(f"{place_of_decide(type(self._policy))}: {when}: {problem.text}")

    def finished(self, number: int) -> None:
        """A job is done and leaves."""
        self._tell_planner(number)
        if self.measurements is not None:
            self.measurements.left(number)
        self.state.finished(number)

    def _tell_planner(self, number: int) -> None:
        """How fast a job that leaves its GPUs ran on them, unless somebody shared them, or it had
        others than it asks for: then its rate says little about the machines."""
        if number not in self.state.placements:
            return
        jobs, row = self.state.jobs, self.state.table.row_of(number)
        is_full = jobs.held_gpus[row] == jobs.gpus[row]
        if jobs.partner[row] == UNKNOWN and is_full:
            place = self.state.placements[number]
            self._planner.observe(int(jobs.model[row]), place, int(jobs.rate[row]))

    def _carry_out(self, decision: Decision, snapshot: Snapshot) -> list[Action]:
        """Take GPUs away first, then give them out in the policy's order."""
        partners = _partners(decision, snapshot)
        changes = self._changes(decision, snapshot, partners)
        for change in changes:
            if change.held:
                self._tell_planner(change.number)
                self.state.vacated(change.number)
        actions: list[Action] = [Preempt(c.number) for c in changes if not c.wanted]
        for change in changes:
            if change.wanted:
                partner = partners.get(change.number, UNKNOWN)
                partner = partner if partner in self.state.placements else UNKNOWN
                place = self._place(change, partner, decision, snapshot)
                roles = change.workers, change.servers
                self.state.started(change.number, place, *roles, partner)
                kind = Migrate if change.held else Start
                actions.append(kind(change.number, place, *roles))
        return actions

    def _changes(
        self, decision: Decision, snapshot: Snapshot, partners: Mapping[int, int]
    ) -> list[Change]:
        jobs = snapshot.jobs
        rows = np.flatnonzero(decision.gpus != jobs.held_gpus).tolist()
        rows += [row for row, place in decision.places.items() if self._is_elsewhere(row, place)]
        rows += _regrouped(decision, snapshot, partners)
        workers, servers = jobs.workers, jobs.servers
        if self.state.has_elastic:
            workers, servers = roles_of(decision, jobs)
            differs = (workers != jobs.held_workers) | (servers != jobs.held_servers)
            rows += np.flatnonzero(differs).tolist()
        if not rows:
            return []
        rows = sorted(set(rows), key=decision.reasons.position.__getitem__)
        columns = (jobs.number, jobs.held_gpus, decision.gpus, workers, servers)
        return [Change(row, *(int(column[row]) for column in columns)) for row in rows]

    def _is_elsewhere(self, row: int, place: Placement) -> bool:
        return self.state.placements.get(int(self.state.jobs.number[row])) != place

    def _place(
        self, change: Change, partner: int, decision: Decision, snapshot: Snapshot
    ) -> Placement:
        if partner != UNKNOWN:
            return self.state.placements[partner]
        chosen = decision.places.get(change.row)
        if chosen is not None:
            self._check_is_free(chosen, change.row, snapshot)
            return chosen
        model = int(snapshot.jobs.model[change.row])
        return self._planner.place(self.state.free_gpus, change.wanted, model)

    def _check_is_free(self, place: Placement, row: int, snapshot: Snapshot) -> None:
        for machine, count in zip(*place, strict=True):
            free = int(self.state.free_gpus[machine])
            if count > free:
                text = f"places: {count} GPUs on machine {machine}, which has {free} free"
                raise self._broken(Problem(text, row), snapshot)


def _partners(decision: Decision, snapshot: Snapshot) -> dict[int, int]:
    """Who shares GPUs with whom, by job."""
    if decision.group is None:
        return {}
    members: dict[int, list[int]] = {}
    for row in np.flatnonzero((decision.group != UNKNOWN) & (decision.gpus > 0)).tolist():
        members.setdefault(int(decision.group[row]), []).append(row)
    partners: dict[int, int] = {}
    for rows in members.values():
        if len(rows) == 2:
            one, other = (int(snapshot.jobs.number[row]) for row in rows)
            partners |= {one: other, other: one}
    return partners


def _regrouped(decision: Decision, snapshot: Snapshot, partners: Mapping[int, int]) -> list[int]:
    """Rows of jobs that go on running but must move to come to a partner, or away from one."""
    jobs, position = snapshot.jobs, decision.reasons.position
    if not partners and not (jobs.partner != UNKNOWN).any():
        return []
    row_of = {number: row for row, number in enumerate(jobs.number.tolist())}

    def wanted(row: int) -> int:
        return partners.get(int(jobs.number[row]), UNKNOWN)

    def comes(row: int) -> bool:
        other = wanted(row)
        is_new = other not in (UNKNOWN, int(jobs.partner[row]))
        return is_new and bool(position[row] > position[row_of[other]])

    def goes(row: int) -> bool:
        if jobs.partner[row] == UNKNOWN or wanted(row) != UNKNOWN:
            return False
        other = row_of[int(jobs.partner[row])]
        if not decision.gpus[other] or comes(other):
            return False
        return wanted(other) != UNKNOWN or bool(position[row] > position[other])

    running = np.flatnonzero((jobs.held_gpus > 0) & (decision.gpus > 0)).tolist()
    return [row for row in running if comes(row) or goes(row)]
