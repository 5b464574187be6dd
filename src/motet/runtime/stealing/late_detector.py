"""Whom an idle worker asks for work: the gaps between arrivals tell that somebody is late. Pure."""

from __future__ import annotations

from collections.abc import Sequence

_LONG_WAIT = 0.2
_LONG_WAIT_US = 2_000
_PATIENCE = 3
_MOST_ASKED = 8
_LONGEST_PAUSE = 64


class Suspicion:
    """One worker's view of the others.

    A long wait for a mini-batch to begin makes it ask around in the next ones, pausing ever longer
    when nobody turns out to be late; who was late is asked at once, until it no longer is.
    """

    def __init__(self, executor: int) -> None:
        self._executor = executor
        self._late: dict[int, int] = {}
        self._is_alarmed = False
        self._pause = 1
        self._quiet_for = 0
        self._turn = 0

    def waited(self, wait_us: int, work_us: int) -> None:
        """A mini-batch begins after waiting that long; the last one took `work_us` of work."""
        self._quiet_for = max(self._quiet_for - 1, 0)
        self._is_alarmed = wait_us > max(_LONG_WAIT * work_us, _LONG_WAIT_US)

    def known_late(self, workers: Sequence[int]) -> list[int]:
        """Who was late in the mini-batches before."""
        return [one for one in self._late if one in workers and one != self._executor]

    def whom(self, workers: Sequence[int]) -> list[int]:
        """Whom to ask in this mini-batch, in this order."""
        others = [one for one in workers if one != self._executor]
        known = self.known_late(workers)
        if not self._is_alarmed or self._quiet_for or not others:
            return known
        # Everybody begins with another one, and with others each time.
        start = (sum(one < self._executor for one in others) + self._turn) % len(others)
        self._turn += _MOST_ASKED
        around = [*others[start:], *others[:start]]
        strangers = [one for one in around if one not in known][:_MOST_ASKED]
        return known + strangers

    def heard(self, executor: int, is_late: bool) -> None:
        """What one of them answered in this mini-batch."""
        if is_late:
            self._late[executor] = _PATIENCE
        elif executor in self._late:
            self._late[executor] -= 1
            if not self._late[executor]:
                del self._late[executor]

    def asked_around(self) -> None:
        """All of `whom` have answered."""
        if self._late:
            self._pause = 1
        elif self._is_alarmed and not self._quiet_for:
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
            self._quiet_for = self._pause
