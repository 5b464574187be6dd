"""Which job held which machine's GPUs, from when to when."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from motet.domain.actions import Action, Preempt
from motet.domain.arrays import Ints
from motet.domain.snapshot import UNKNOWN, Placement
from motet.engine.state import ClusterState

_COLUMNS = 6


@dataclass(frozen=True, eq=False)
class Holds:
    """A row per job, machine and time without change; by start, then job, then machine.

    `job`, `machine`: their numbers. `gpus`: on that machine. `partner`: the job that held the same
    GPUs in that time, or UNKNOWN.
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
    """Of a `HoldRecorder`: since when jobs hold what they hold, with whom, and what has ended."""

    open: Mapping[int, tuple[int, Placement]]
    partner: Ints
    rows: array[int]


class HoldRecorder:
    """Collects `Holds`: 48 bytes for each, and little work beside that of the decision itself."""

    def __init__(self, jobs: int) -> None:
        self._open: dict[int, tuple[int, Placement]] = {}
        self._partner: Ints = np.full(jobs, UNKNOWN, dtype=np.int64)
        self._rows = array("q")

    def decided(self, state: ClusterState, actions: Sequence[Action]) -> None:
        """Jobs have come to GPUs, or left them, or have other company on them."""
        for action in actions:
            self.ended(action.job, state.now_us)
            if not isinstance(action, Preempt):
                self._open[action.job] = state.now_us, action.placement
        if state.has_shared:
            self._note_company(state)

    def ended(self, number: int, now_us: int) -> None:
        """A job leaves the GPUs that it held, if any."""
        start_us, placement = self._open.pop(number, (now_us, None))
        if placement is None or start_us == now_us:
            return
        partner = int(self._partner[number])
        for machine, count in zip(*placement, strict=True):
            self._rows.extend((number, machine, count, start_us, now_us, partner))

    def capture(self) -> CapturedHolds:
        """All until now."""
        return CapturedHolds(dict(self._open), self._partner.copy(), self._rows[:])

    def restore(self, captured: CapturedHolds) -> None:
        """All until then."""
        self._open, self._partner = dict(captured.open), captured.partner.copy()
        self._rows = captured.rows[:]

    def holds(self) -> Holds:
        """All that have ended."""
        rows = np.array(self._rows, dtype=np.int64).reshape(-1, _COLUMNS)
        order = np.lexsort((rows[:, 1], rows[:, 0], rows[:, 3]))
        return Holds(*np.ascontiguousarray(rows[order].T))

    def _note_company(self, state: ClusterState) -> None:
        numbers, partner = state.jobs.number, state.jobs.partner
        for row in np.flatnonzero(partner != self._partner[numbers]).tolist():
            number = int(numbers[row])
            held = self._open.get(number)
            self.ended(number, state.now_us)
            self._partner[number] = partner[row]
            if held is not None:
                self._open[number] = state.now_us, held[1]
