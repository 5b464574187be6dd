"""Which workers an idle worker requests work from, by the gaps between arrivals. Pure."""

from __future__ import annotations

from collections.abc import Sequence

_LONG_WAIT = 0.2
_LONG_WAIT_US = 2_000
_PATIENCE = 3
_MOST_ASKED = 8
_LONGEST_PAUSE = 64


class LateDetector:
    """One worker's view of the others.

    After a long wait for a mini-batch to begin it probes other workers in the next ones, with
    growing pauses while none of them is late. A worker that was late is probed in every mini-batch
    until it no longer is.
    """

    def __init__(self, executor: int) -> None:
        self._executor = executor
        self._late: dict[int, int] = {}
        self._has_waited_long = False
        self._pause = 1
        self._quiet_for = 0
        self._turn = 0

    def note_wait(self, wait_us: int, work_us: int) -> None:
        """A mini-batch begins after this wait; the previous one took `work_us` of work."""
        self._quiet_for = max(self._quiet_for - 1, 0)
        self._has_waited_long = wait_us > max(_LONG_WAIT * work_us, _LONG_WAIT_US)

    def known_late(self, workers: Sequence[int]) -> list[int]:
        """Workers that were late in the previous mini-batches."""
        return [one for one in self._late if one in workers and one != self._executor]

    def candidates(self, workers: Sequence[int]) -> list[int]:
        """The workers to probe in this mini-batch, in this order."""
        others = [one for one in workers if one != self._executor]
        known = self.known_late(workers)
        if not self._has_waited_long or self._quiet_for or not others:
            return known
        # Every worker begins with another one, and with others each time.
        start = (sum(one < self._executor for one in others) + self._turn) % len(others)
        self._turn += _MOST_ASKED
        around = [*others[start:], *others[:start]]
        strangers = [one for one in around if one not in known][:_MOST_ASKED]
        return known + strangers

    def note_answer(self, executor: int, is_late: bool) -> None:
        """The answer of one of them in this mini-batch."""
        if is_late:
            self._late[executor] = _PATIENCE
        elif executor in self._late:
            self._late[executor] -= 1
            if not self._late[executor]:
                del self._late[executor]

    def end_round(self) -> None:
        """All candidates have answered."""
        if self._late:
            self._pause = 1
        elif self._has_waited_long and not self._quiet_for:
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
            self._quiet_for = self._pause
