"""Steps per second of one job by its numbers of workers and servers, known at some sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Size: TypeAlias = tuple[int, int]
"""(workers, servers)"""


class SizeSpeeds:
    """`measured`: sizes at which the speed was measured; at other known ones it was predicted."""

    def __init__(
        self, known: Mapping[Size, float], measured: frozenset[Size] = frozenset()
    ) -> None:
        """`known`: where the speed is known, at one size at least; in steps per second."""
        self.known, self.measured = dict(known), measured
        self._by_processes: dict[int, float] = {}
        for (workers, servers), speed in self.known.items():
            processes = workers + servers
            self._by_processes[processes] = max(speed, self._by_processes.get(processes, 0.0))

    def at(self, workers: int, servers: int) -> float:
        """Between known sizes linear in the number of processes; proportional to it below them; as
        at the largest one above them."""
        speed = self.known.get((workers, servers))
        if speed is not None:
            return speed
        processes = workers + servers
        below = max((each for each in self._by_processes if each <= processes), default=None)
        above = min((each for each in self._by_processes if each >= processes), default=None)
        if below is None:
            assert above is not None
            return self._by_processes[above] * processes / above
        if above is None or above == below:
            return self._by_processes[below]
        part = (processes - below) / (above - below)
        return self._by_processes[below] * (1 - part) + self._by_processes[above] * part
