"""A policy that puts jobs on the same GPUs in groups of changing size and members."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from motet.allocation.keep_current import next_multiple
from motet.domain.decision import Decision, Reasons
from motet.domain.policy import Policy
from motet.domain.snapshot import UNKNOWN, Placement, Snapshot
from motet.domain.units import NEVER_US, SECOND_US
from motet.domain.wait import Wait


@dataclass(frozen=True)
class Crowding(Policy):
    """Every few seconds, groups of up to `most` jobs of equally many GPUs in another order.

    `names_places`: whether it chooses the machines, from the first or from the last one.
    """

    most: int = 3
    names_places: bool = False

    def decide(self, snapshot: Snapshot) -> Decision:
        """Groups by the second of the decision; jobs without a group that fits wait."""
        jobs, turn = snapshot.jobs, snapshot.now_us // (5 * SECOND_US)
        order = sorted(
            range(len(jobs)), key=lambda row: (jobs.number[row] * (1 + turn % 3) % 7, row)
        )
        gpus, group = np.zeros(len(jobs), np.int64), np.full(len(jobs), UNKNOWN)
        position, left = np.zeros(len(jobs), np.int64), snapshot.gpu_count
        open_groups: dict[int, list[int]] = {}
        for place, row in enumerate(order):
            position[row], size = place, int(jobs.gpus[row])
            members = open_groups.get(size, [])
            if not members or len(members) == self.most:
                if size > left:
                    continue
                left -= size
                members = open_groups[size] = []
            members.append(row)
            gpus[row], group[row] = size, members[0]
        code = np.where(gpus > 0, int(Wait.RUNS), int(Wait.TOO_FEW_GPUS))
        return Decision(
            gpus,
            Reasons(code, np.full(len(jobs), left), position),
            self._places(snapshot, gpus, group, order) if self.names_places else {},
            group=group,
            recheck_at_us=next_multiple(snapshot.now_us, 5 * SECOND_US) if len(jobs) else NEVER_US,
        )

    def _places(
        self, snapshot: Snapshot, gpus: np.ndarray, group: np.ndarray, order: list[int]
    ) -> dict[int, Placement]:
        """The same machines for all jobs of a group."""
        free = snapshot.cluster.gpus.copy()
        machines = list(range(len(free)))[:: 1 if snapshot.now_us // SECOND_US % 2 else -1]
        chosen: dict[int, Placement] = {}
        places: dict[int, Placement] = {}
        for row in (row for row in order if gpus[row]):
            if group[row] not in chosen:
                left, taken = int(gpus[row]), dict[int, int]()
                for machine in machines:
                    taken[machine] = min(left, int(free[machine]))
                    free[machine] -= taken[machine]
                    left -= taken[machine]
                counts = {machine: taken[machine] for machine in sorted(taken) if taken[machine]}
                chosen[group[row]] = Placement(tuple(counts), tuple(counts.values()))
            places[row] = chosen[group[row]]
        return places


POLICIES = {"crowding": Crowding}
