"""Intervals in which jobs held GPUs of machines."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from motet.domain.actions import Action, Preempt
from motet.domain.arrays import Ints
from motet.domain.snapshot import UNKNOWN, Placement
from motet.engine.state.cluster_state import ClusterState
from motet.engine.state.sharing import SHARED_SET

_COLUMNS = 7
_ALONE = (UNKNOWN, 1)


@dataclass(frozen=True, eq=False)
class Holds:
    """A row per job, machine and interval of a constant placement; by start, then job, then
    machine.

    `job`, `machine`: their numbers. `gpus`: on that machine. `partner`: the lowest-numbered other
    job that held the same GPUs in that interval, or UNKNOWN. `sharers`: number of jobs that did. A
    row of each of them has the same interval.
    """

    job: Ints
    machine: Ints
    gpus: Ints
    start_us: Ints
    end_us: Ints
    partner: Ints
    sharers: Ints

    def __len__(self) -> int:
        return len(self.job)

    def shared_with(self) -> list[list[int]]:
        """By row, the other jobs that held the same GPUs in the interval, ascending."""
        lowest = np.where(self.partner == UNKNOWN, self.job, np.minimum(self.job, self.partner))
        keys = list(
            zip(lowest.tolist(), self.machine.tolist(), self.start_us.tolist(), strict=True)
        )
        members = defaultdict[tuple[int, int, int], list[int]](list)
        for key, job in zip(keys, self.job.tolist(), strict=True):
            members[key].append(job)
        return [
            sorted(other for other in members[key] if other != job)
            for key, job in zip(keys, self.job.tolist(), strict=True)
        ]


@dataclass(frozen=True, eq=False)
class CapturedHolds:
    """State of a `HoldRecorder`: start and placement of open holds, sets of jobs that share GPUs
    with their partners and sizes, and closed rows.
    """

    open: Mapping[int, tuple[int, Placement]]
    shared: Ints
    rows: array[int]


class HoldRecorder:
    """Collects `Holds`: 56 bytes per row."""

    def __init__(self, jobs: int) -> None:
        self._open: dict[int, tuple[int, Placement]] = {}
        # By job: the set of jobs that share its GPUs, the lowest other one, their number.
        self._shared: Ints = np.array([[UNKNOWN], [UNKNOWN], [1]]).repeat(jobs, axis=1)
        self._has_shared = False
        self._rows = array("q")

    def decided(self, state: ClusterState, actions: Sequence[Action]) -> None:
        """Record changed placements, and changed sets of jobs that share GPUs."""
        for action in actions:
            if action.job in self._open:
                self.ended(action.job, state.now_us)
            if not isinstance(action, Preempt):
                self._open[action.job] = state.now_us, action.placement
        if state.has_shared:
            self._update_sets(state)

    def ended(self, number: int, now_us: int) -> None:
        """Close the hold of a job, if any."""
        start_us, placement = self._open.pop(number, (now_us, None))
        if placement is None or start_us == now_us:
            return
        company = self._shared[1:, number].tolist() if self._has_shared else _ALONE
        for machine, count in zip(*placement, strict=True):
            self._rows.extend((number, machine, count, start_us, now_us, *company))

    def capture(self) -> CapturedHolds:
        """The state so far."""
        return CapturedHolds(dict(self._open), self._shared.copy(), self._rows[:])

    def restore(self, captured: CapturedHolds) -> None:
        """Continue with this state."""
        self._open, self._shared = dict(captured.open), captured.shared.copy()
        self._has_shared = True
        self._rows = captured.rows[:]

    def holds(self) -> Holds:
        """All closed holds."""
        rows = np.array(self._rows, dtype=np.int64).reshape(-1, _COLUMNS)
        order = np.lexsort((rows[:, 1], rows[:, 0], rows[:, 3]))
        return Holds(*np.ascontiguousarray(rows[order].T))

    def _update_sets(self, state: ClusterState) -> None:
        self._has_shared = True
        jobs, column = state.jobs, state.table.column(SHARED_SET)
        for row in np.flatnonzero(column != self._shared[0, jobs.number]).tolist():
            number = int(jobs.number[row])
            held = self._open.get(number)
            self.ended(number, state.now_us)
            self._shared[:, number] = column[row], jobs.partner[row], jobs.sharers[row]
            if held is not None:
                self._open[number] = state.now_us, held[1]
