"""Intervals in which jobs held GPUs of machines."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from motet.domain.actions import Action, Preempt
from motet.domain.arrays import Ints
from motet.domain.snapshot import UNKNOWN, Placement
from motet.engine.state.cluster_state import ClusterState

_COLUMNS = 6


@dataclass(frozen=True, eq=False)
class Holds:
    """A row per job, machine and interval of a constant placement; by start, then job, then
    machine.

    `job`, `machine`: their numbers. `gpus`: on that machine. `partner`: the job that held the same
    GPUs in that interval, or UNKNOWN.
    """

    job: Ints
    machine: Ints
    gpus: Ints
    start_us: Ints
    end_us: Ints
    partner: Ints

    def __len__(self) -> int:
        return len(self.job)


@dataclass(frozen=True, eq=False)
class CapturedHolds:
    """State of a `HoldRecorder`: start and placement of open holds, partners, and closed rows."""

    open: Mapping[int, tuple[int, Placement]]
    partner: Ints
    rows: array[int]


class HoldRecorder:
    """Collects `Holds`: 48 bytes per row."""

    def __init__(self, jobs: int) -> None:
        self._open: dict[int, tuple[int, Placement]] = {}
        self._partner: Ints = np.full(jobs, UNKNOWN, dtype=np.int64)
        self._rows = array("q")

    def decided(self, state: ClusterState, actions: Sequence[Action]) -> None:
        """Record changed placements and partners."""
        for action in actions:
            self.ended(action.job, state.now_us)
            if not isinstance(action, Preempt):
                self._open[action.job] = state.now_us, action.placement
        if state.has_shared:
            self._update_partners(state)

    def ended(self, number: int, now_us: int) -> None:
        """Close the hold of a job, if any."""
        start_us, placement = self._open.pop(number, (now_us, None))
        if placement is None or start_us == now_us:
            return
        partner = int(self._partner[number])
        for machine, count in zip(*placement, strict=True):
            self._rows.extend((number, machine, count, start_us, now_us, partner))

    def capture(self) -> CapturedHolds:
        """The state so far."""
        return CapturedHolds(dict(self._open), self._partner.copy(), self._rows[:])

    def restore(self, captured: CapturedHolds) -> None:
        """Continue with this state."""
        self._open, self._partner = dict(captured.open), captured.partner.copy()
        self._rows = captured.rows[:]

    def holds(self) -> Holds:
        """All closed holds."""
        rows = np.array(self._rows, dtype=np.int64).reshape(-1, _COLUMNS)
        order = np.lexsort((rows[:, 1], rows[:, 0], rows[:, 3]))
        return Holds(*np.ascontiguousarray(rows[order].T))

    def _update_partners(self, state: ClusterState) -> None:
        numbers, partner = state.jobs.number, state.jobs.partner
        for row in np.flatnonzero(partner != self._partner[numbers]).tolist():
            number = int(numbers[row])
            held = self._open.get(number)
            self.ended(number, state.now_us)
            self._partner[number] = partner[row]
            if held is not None:
                self._open[number] = state.now_us, held[1]
