"""COMP and COMM of a step, by the speed function of a synchronous job."""

from __future__ import annotations

from collections.abc import Sequence

from motet.estimate.colocation.group_time import SubtaskTimes


def step_parts(
    parameters: Sequence[float],
    workers: int,
    servers: int,
    computing: float = 1.0,
    communicating: float = 1.0,
    exchanging: float = 1.0,
) -> SubtaskTimes:
    """The parts of the step whose sum is the inverse of `motet.estimate.speed_function.speed`, with
    the same factors; at least one worker.

    COMP is `t0 M/w + t1`, all other terms are COMM.
    """
    t0, t1, t2, t3, t4, batch = parameters
    exchanged = workers / servers if servers > 0 else (workers - 1) / workers
    comm_s = t2 * exchanged * exchanging + t3 * workers + t4 * servers
    return SubtaskTimes((t0 * batch / workers + t1) * computing, comm_s * communicating)
