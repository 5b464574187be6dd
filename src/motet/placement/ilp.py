"""Optimal placement of one gang by integer programming; an oracle, too slow for scheduling.

Tiresias (Gu et al., NSDI 2019, section 3.3.1; the thesis, section 3.3.3.1): choose machines for the
workers and the parameter servers of one job so that the largest network load of any machine is
minimal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motet.domain.arrays import Floats, Ints
from motet.domain.model_profile import UNKNOWN_MODEL, ModelProfile
from motet.domain.snapshot import UNKNOWN, Placement
from motet.placement.planner import Planner


@dataclass(frozen=True)
class IlpPlanner(Planner):
    """`models`: by index. Assumes as many parameter servers as GPUs; one has the largest tensor."""

    models: Sequence[ModelProfile] = ()

    def place(self, free_gpus: Ints, gpus: int, model: int) -> Placement:
        """See `Planner.place`."""
        if free_gpus.sum() < gpus:
            raise ValueError(f"{gpus} GPUs requested, {int(free_gpus.sum())} free")
        profile = UNKNOWN_MODEL if model == UNKNOWN else self.models[model]
        workers, _ = best_placement(free_gpus, gpus, server_loads(profile, gpus))
        machines = np.flatnonzero(workers)
        return Placement(tuple(machines.tolist()), tuple(workers[machines].tolist()))


def server_loads(profile: ModelProfile, servers: int) -> Floats:
    """Megabytes on each parameter server: the largest tensor on one, the rest spread evenly."""
    loads = np.full(servers, (profile.size_mb - profile.largest_mb) / servers)
    loads[0] += profile.largest_mb
    return loads


def network_load(workers: Ints, servers: NDArray[np.bool_], loads: Floats) -> Floats:
    """T_i of each machine: traffic of its workers with servers on other machines, and of its
    servers with workers on other machines. `servers: (machines, servers)`: the machine of each
    server.
    """
    here = servers.astype(np.float64)
    total = workers.sum()
    both = 2 * workers * (here @ loads)
    return np.asarray(workers * loads.sum() + total * (here @ loads) - both)


def best_placement(
    free_gpus: Ints, gpus: int, loads: Floats, background: Floats | None = None
) -> tuple[Ints, NDArray[np.bool_]]:
    """Workers per machine, `(machines,)`, and the machine of each server, `(machines, servers)`.

    `background`: t_i, the existing load of each machine.
    """
    program = _Program(free_gpus, loads)
    program.divide(gpus)
    program.bound_loads(gpus, np.zeros(len(free_gpus)) if background is None else background)
    return program.solve()


class _Program:
    """Columns: workers w_i, servers p_ji, their products y_ij, and the largest load."""

    def __init__(self, free_gpus: Ints, loads: Floats) -> None:
        self._free = free_gpus
        self._loads = loads
        size, pairs = len(free_gpus), len(free_gpus) * len(loads)
        self._shape = (size, len(loads))
        self._w = list(range(size))
        self._p = np.arange(size, size + pairs).reshape(self._shape).tolist()
        self._y = np.arange(size + pairs, size + 2 * pairs).reshape(self._shape).tolist()
        self._top = size + 2 * pairs
        self._rows: list[Floats] = []
        self._lows: list[float] = []
        self._highs: list[float] = []

    def divide(self, gpus: int) -> None:
        """Constrain all workers to be placed, and every server to be on one machine."""
        self._require(gpus, gpus, dict.fromkeys(self._w, 1.0))
        for server in range(self._shape[1]):
            self._require(1, 1, {row[server]: 1.0 for row in self._p})

    def bound_loads(self, gpus: int, background: Floats) -> None:
        """T_i = t_i + w_i M + W sum_j p_ji s_j - 2 sum_j s_j y_ij is at most the largest load."""
        for machine, room in enumerate(self._free.tolist()):
            terms = {self._top: -1.0, self._w[machine]: float(self._loads.sum())}
            for p, y, load in zip(self._p[machine], self._y[machine], self._loads, strict=True):
                self._multiply(self._w[machine], p, y, room)
                terms |= {p: gpus * float(load), y: -2 * float(load)}
            self._require(-np.inf, -float(background[machine]), terms)

    def solve(self) -> tuple[Ints, NDArray[np.bool_]]:
        """Solve to optimality with HiGHS. Raises ValueError if there is no solution."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        size, pairs = self._shape[0], self._shape[0] * self._shape[1]
        products = np.repeat(self._free, self._shape[1])
        upper = np.concatenate([self._free, np.ones(pairs), products, [np.inf]])
        goal = np.zeros(self._top + 1)
        goal[self._top] = 1.0
        solved = milp(
            goal,
            integrality=np.concatenate([np.ones(size + pairs), np.zeros(pairs + 1)]),
            bounds=Bounds(np.zeros(self._top + 1), upper),
            constraints=LinearConstraint(np.array(self._rows), self._lows, self._highs),
        )
        if not solved.success:
            raise ValueError(f"no placement found: {solved.message}")
        values = np.round(solved.x).astype(np.int64)
        return values[:size], values[size : size + pairs].reshape(self._shape).astype(bool)

    def _multiply(self, w: int, p: int, y: int, room: int) -> None:
        """Constrain y = w * p for an integer w up to `room` and a binary p."""
        self._require(-np.inf, 0, {y: 1.0, w: -1.0})
        self._require(-np.inf, 0, {y: 1.0, p: -float(room)})
        self._require(-float(room), np.inf, {y: 1.0, w: -1.0, p: -float(room)})

    def _require(self, low: float, high: float, terms: dict[int, float]) -> None:
        row = np.zeros(self._top + 1)
        row[list(terms)] = list(terms.values())
        self._rows.append(row)
        self._lows.append(low)
        self._highs.append(high)
