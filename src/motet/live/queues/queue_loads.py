"""What the jobs of every queue hold, and how many wait. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from motet.live.jobs.job import LiveJob


@dataclass(frozen=True, slots=True)
class QueueLoad:
    """`slots`: held by processes. `running`: jobs with slots; `waiting`: all other open ones."""

    slots: int
    running: int
    waiting: int


class QueueLoads:
    """Of all queues at one moment."""

    def __init__(self, open_jobs: Mapping[str, int], active: Iterable[LiveJob]) -> None:
        """`open_jobs`: how many have not ended, by queue. `active`: jobs with processes."""
        self._open, self._slots = open_jobs, Counter[str]()
        self._running, self._going_on = Counter[str](), Counter[str]()
        for job in active:
            queue = job.spec.queue
            self._running[queue] += 1
            self._going_on[queue] += job.end is None
            self._slots[queue] += job.attempts[-1].processes

    def of(self, queue: str) -> QueueLoad:
        """The load of one queue; a queue without jobs has none."""
        waiting = self._open.get(queue, 0) - self._going_on[queue]
        return QueueLoad(self._slots[queue], self._running[queue], waiting)
