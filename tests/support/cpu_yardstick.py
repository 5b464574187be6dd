"""CPU time in multiples of fixed work, for which a slow or busy machine takes longer too."""

from __future__ import annotations

import time
from collections.abc import Callable


def cpu_s(work: Callable[[], object]) -> float:
    """CPU seconds of this process."""
    began_s = time.process_time()
    work()
    return time.process_time() - began_s


def in_yardsticks(work: Callable[[], object]) -> float:
    """The CPU time of `work` in those of a yardstick beside it: about 30 ms on a machine of 2023.

    Seconds of CPU time would not do: they grow where other processes share a core and its caches.
    """
    before_s = cpu_s(_yardstick)
    took_s = cpu_s(work)
    return took_s / max(before_s, cpu_s(_yardstick))


def _yardstick() -> int:
    return sum(number * number % 7 for number in range(400_000))
