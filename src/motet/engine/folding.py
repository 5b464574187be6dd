"""Recorded decisions and actions applied to an engine's state, without asking a policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from motet.domain.actions import Action, Migrate, Preempt
from motet.domain.arrays import Ints
from motet.domain.decision import Decision, Reasons
from motet.domain.snapshot import UNKNOWN, JobTable, Placement
from motet.domain.wait import Wait
from motet.engine.actions.requests import Requests
from motet.engine.actions.slots import Slots
from motet.engine.actions.staying_jobs import StayingJobs
from motet.engine.effects import DecisionEffects
from motet.engine.measurements.job_measurements import Measurements
from motet.engine.state.cluster_state import ClusterState


class Folding:
    """Applies what was recorded to state and pending actions."""

    def __init__(self, state: ClusterState, slots: Slots, requests: Requests) -> None:
        self._state, self._slots, self._requests = state, slots, requests

    def repeat(
        self, effects: DecisionEffects, measurements: Measurements | None, *, has_estimates: bool
    ) -> None:
        """Apply the effects of a decision. `has_estimates`: the policy was given estimates."""
        if has_estimates and measurements is not None:
            measurements.note_fits(self._seen_jobs())
        table = self._state.table
        for name, changes in effects.memory.items():
            column = table.column(name)
            for amount, jobs in changes:
                column[[table.row_of(job) for job in jobs]] += amount
        self._slots.repeat(effects.actions, effects.partners)
        codes = table.column("wait_code")
        for job, code in effects.waits.items():
            codes[table.row_of(job)] = code

    def _seen_jobs(self) -> JobTable:
        """Those about which the policy was asked."""
        state, closed = self._state, self._state.machines.closed
        return StayingJobs.of(state.snapshot(), closed).hidden().jobs if len(closed) else state.jobs

    def force(self, actions: Sequence[Action]) -> None:
        """Apply actions that were executed, whatever is pending: decided starts that were not
        executed are void, because another decision has been executed.

        Raises KeyError for a job that is not active.
        """
        self._void_pending()
        for action in actions:
            if isinstance(action, Preempt):
                if action.job in self._state.placements:
                    self._slots.repeat([action], {})
            else:
                others = self._sharers(action.job, action.placement)
                self._slots.repeat([action], {action.job: others})
            self._requests.issue([action])

    def forced_decision(self, wanted: Decision | None) -> Decision:
        """A decision that leads to the present state. `wanted`: by the policy; None: unknown."""
        state, size = self._state, len(self._state.jobs)
        known, held = state.table.column("wait_code"), state.jobs.held_gpus
        unknown: Ints = np.full(size, UNKNOWN, dtype=np.int64)
        reasons = Reasons(known, np.zeros(size, dtype=np.int64), unknown)
        if wanted is not None:
            reasons = wanted.reasons
        waits = np.where(reasons.code == Wait.RUNS, known, reasons.code)
        codes: Ints = np.where(held > 0, Wait.RUNS, waits)
        known[:] = codes
        return Decision(held.copy(), replace(reasons, code=codes))

    def _void_pending(self) -> None:
        state, requests = self._state, self._requests
        for job in requests.void():
            if job not in state.placements:
                continue
            hold, row = requests.held_by(job), state.table.row_of(job)
            if hold is None:
                state.vacated(job)
            elif hold != state.placements[job]:
                servers = int(state.jobs.held_servers[row])
                workers = max(sum(hold.counts) - servers, 0)
                self._slots.repeat([Migrate(job, hold, workers, servers)], {})

    def _sharers(self, job: int, placement: Placement) -> tuple[int, ...]:
        """Jobs on exactly these slots, if they are not free."""
        own = self._state.placements.get(job)
        returned = {} if own is None else dict(zip(*own, strict=True))
        free = self._state.room.gpus
        if all(
            int(free[machine]) + returned.get(machine, 0) >= count
            for machine, count in zip(*placement, strict=True)
        ):
            return ()
        placements = self._state.placements.items()
        return tuple(other for other, place in placements if other != job and place == placement)


def are_same(found: Sequence[Action], recorded: Sequence[Action]) -> bool:
    """Whether actions are equal; a start and a move of the same job are not."""
    return [(type(each), each) for each in found] == [(type(each), each) for each in recorded]
