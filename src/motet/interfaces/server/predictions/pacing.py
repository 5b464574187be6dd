"""How long predictions pause after a round. Pure."""

from __future__ import annotations

PAUSE_RATIO = 20.0
"""Pauses are so many times as long as rounds: predictions take a twentieth of a core."""


class Pacing:
    """Counts the rounds in a row that failed. Seconds: `first_s`: until the first round after a
    change: jobs that wait for less have no prediction; `shortest_s`: the same for later rounds, and
    the shortest pause; `longest_s`: only failed rounds that took long are followed by a longer
    one."""

    def __init__(
        self, first_s: float = 5.0, shortest_s: float = 2.0, longest_s: float = 120.0
    ) -> None:
        self.first_s, self.shortest_s, self.longest_s = first_s, shortest_s, longest_s
        self._failed = 0

    def succeeded(self, cpu_s: float) -> float:
        """The pause after a round that took so much time of the processor."""
        self._failed = 0
        return min(max(PAUSE_RATIO * cpu_s, self.shortest_s), self.longest_s)

    def failed(self, cpu_s: float) -> float:
        """The same after a round without a result: twice as long each time."""
        pause_s: float = min(self.first_s * 2 ** min(self._failed, 10), self.longest_s)
        self._failed += 1
        return max(PAUSE_RATIO * cpu_s, pause_s)
