"""Detection of straggling machines, and the speed of jobs on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from motet.domain.arrays import Bools
from motet.domain.estimates import MachineSpeeds
from motet.domain.snapshot import UNKNOWN
from motet.estimate.speed_function import SpeedMode


def stragglers(speeds: MachineSpeeds, now_us: int, ratio: float, memory_us: int) -> Bools:
    """Machines where computing takes at least `ratio` times as long as on others, `(machines,)`.

    The reference is the (lower) median of all machines. A machine without a measurement within the
    last `memory_us` counts as normal: no job has trained there since, and the cause may have
    passed.
    """
    is_known: Bools = (speeds.measured_us != UNKNOWN) & (speeds.measured_us >= now_us - memory_us)
    times_as_long = np.where(is_known, speeds.times_as_long, 1.0)
    if not len(times_as_long):
        return np.zeros(0, dtype=np.bool_)
    slow: Bools = times_as_long >= ratio * np.quantile(times_as_long, 0.5, method="lower")
    return slow


def speed_at_paces(
    mode: int, counts: Sequence[int], times: Sequence[float], speed_at: Callable[[float], float]
) -> float:
    """Speed of a job with these GPU counts on machines with these factors of the computing time.

    `speed_at`: the speed if computing took all workers this many times as long. A synchronous gang
    runs at the pace of its slowest machine. Asynchronous workers run at their own paces; they are
    assumed to be spread over machines in proportion to the GPUs.
    """
    if mode != SpeedMode.ASYNC:
        return speed_at(max(times))
    total = sum(counts)
    return sum(count / total * speed_at(each) for count, each in zip(counts, times, strict=True))
