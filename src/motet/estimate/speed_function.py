"""How many steps per second a job makes with so many workers and servers (Optimus' model).

Peng et al., EuroSys 2018, section 3.2. A step of w workers and p parameter servers takes

    synchronous   t0 M/w + t1 + t2 w/p + t3 w + t4 p        (M: the batch of all workers)
    asynchronous  (t0 + t1 w/p + t2 w + t3 p) / w           (each worker steps on its own)

seconds. Jobs without servers (collectives, one process) have (w - 1)/w in the place of w/p: what
each worker sends and receives in a ring that sums gradients (our addition; Optimus knows servers
only), and no other term with p.

Of a step, `t0 M/w + t1` (asynchronous: `t0`) is computing, the rest is communicating: a slow
machine makes the former longer, being spread over machines the latter. Of that, the term of w/p is
the exchange of the model between workers and servers: how long it takes depends on where they are
(`motet.estimate.exchange`) and on how the model is divided among the servers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Self

import numpy as np

from motet.domain.arrays import Floats, Ints

NAN, INFINITY = float("nan"), float("inf")
PARAMETERS = ("t0", "t1", "t2", "t3", "t4", "batch")
"""Columns of a speed function: seconds, and M, which only synchronous jobs have."""


class SpeedMode(IntEnum):
    """Which formula holds."""

    UNKNOWN = 0
    ASYNC = 1
    SYNC = 2


@dataclass(frozen=True, eq=False, slots=True)
class SpeedFunctions:
    """A row per job. `mode`: a `SpeedMode`, `(jobs,)`; `parameters`: `(jobs, 6)`, none negative."""

    mode: Ints
    parameters: Floats

    def __len__(self) -> int:
        return len(self.mode)

    def steps_per_s(self, workers: Any, servers: Any) -> Floats:
        """`(jobs,)` speeds; 0 without workers, NaN where nothing is known."""
        modes, shape = self.mode.tolist(), self.mode.shape
        columns = (np.broadcast_to(np.asarray(c, np.float64), shape) for c in (workers, servers))
        rows = zip(modes, self.parameters.tolist(), *(c.tolist() for c in columns), strict=True)
        return np.array([speed(*row) for row in rows], dtype=np.float64)

    def take(self, rows: Any) -> Self:
        """These rows, in this order."""
        return type(self)(self.mode[rows], self.parameters[rows])


def speed(
    mode: int,
    parameters: Sequence[float] | Floats,
    workers: float,
    servers: float,
    computing: float = 1.0,
    communicating: float = 1.0,
    exchanging: float = 1.0,
) -> float:
    """Steps per second of one job; `parameters`: `(6,)`. Numba can compile this.

    `computing`, `communicating`: how many times as long these parts of a step take here;
    `exchanging`: the term of w/p (without servers of (w - 1)/w) once more.
    """
    if mode == 0:
        return NAN
    if workers <= 0:
        return 0.0
    t = parameters
    exchanged = workers / servers if servers > 0 else max(workers - 1.0, 0.0) / workers
    exchanged *= exchanging
    if mode == 1:
        step_s = t[0] * computing
        step_s += (t[1] * exchanged + t[2] * workers + t[3] * servers) * communicating
        return workers / step_s if step_s > 0 else INFINITY
    step_s = (t[0] * t[5] / workers + t[1]) * computing
    step_s += (t[2] * exchanged + t[3] * workers + t[4] * servers) * communicating
    return 1.0 / step_s if step_s > 0 else INFINITY
