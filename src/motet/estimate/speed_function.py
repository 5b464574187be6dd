"""Steps per second of a job as a function of its workers and servers (Optimus' model).

Peng et al., EuroSys 2018, section 3.2. A step of w workers and p parameter servers takes

    synchronous   t0 M/w + t1 + t2 w/p + t3 w + t4 p        (M: the batch of all workers)
    asynchronous  (t0 + t1 w/p + t2 w + t3 p) / w           (each worker steps on its own)

seconds. Jobs without servers (collectives, one process) use (w - 1)/w instead of w/p: the traffic
of each worker in a ring all-reduce (an addition; Optimus covers servers only), and no other term
with p.

Of a step, `t0 M/w + t1` (asynchronous: `t0`) is computation, the rest is communication: a slow
machine extends the former, spreading over machines the latter. The term of w/p is the exchange of
the model between workers and servers: its duration depends on their placement
(`motet.estimate.exchange`) and on the division of the model among the servers.
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
    """The formula that holds."""

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
        """`(jobs,)` speeds; 0 without workers, NaN for unknown functions."""
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
    """Steps per second of one job; `parameters`: `(6,)`. Compatible with Numba.

    `computing`, `communicating`: factors on the durations of these parts of a step; `exchanging`:
    an additional factor on the term of w/p (without servers of (w - 1)/w).
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
