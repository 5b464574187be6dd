"""Which machines are stragglers, as far as anybody can know."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motet.domain.machine_speeds import MachineSpeeds
from motet.domain.snapshot import UNKNOWN

Bools = NDArray[np.bool_]


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
