"""Which machines are stragglers, as far as anybody can know, and how fast jobs are on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from motet.domain.arrays import Bools
from motet.domain.machine_speeds import MachineSpeeds
from motet.domain.snapshot import UNKNOWN
from motet.estimate.speed_function import SpeedMode


def stragglers(speeds: MachineSpeeds, now_us: int, ratio: float, memory_us: int) -> Bools:
    """Machines where computing takes at least `ratio` times as long as on others, `(machines,)`.

    Others: the median of all machines, the lower one of two. Those that were not measured within
    the last `memory_us` are taken to be as fast as usual: nobody has trained there since, and
    whatever was may have passed.
    """
    is_known: Bools = (speeds.measured_us != UNKNOWN) & (speeds.measured_us >= now_us - memory_us)
    times_as_long = np.where(is_known, speeds.times_as_long, 1.0)
    slow: Bools = times_as_long >= ratio * np.quantile(times_as_long, 0.5, method="lower")
    return slow


def speed_at_paces(
    mode: int, counts: Sequence[int], times: Sequence[float], speed_at: Callable[[float], float]
) -> float:
    """Of a job with so many GPUs on machines where computing takes so many times as long.

    `speed_at`: if it took all of its workers so many times as long. A gang waits for its slowest
    machine. Where workers do not wait for each other, a job makes what they make at their own
    paces; they are taken to be spread over machines as its GPUs are.
    """
    if mode != SpeedMode.ASYNC:
        return speed_at(max(times))
    total = sum(counts)
    return sum(count / total * speed_at(each) for count, each in zip(counts, times, strict=True))
