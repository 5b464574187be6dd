"""What happens at given times: jobs arrive, users change their minds, machines come and go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from motet.domain.events import Event
from motet.domain.units import NEVER_US
from motet.sim.workload.interventions import TimedEvent
from motet.sim.workload.workload import Workload

_ARRIVING = {
    "queue": "queue",
    "experiment": "experiment",
    "submit_us": "submit_us",
    "model": "model",
    "gpus": "gpus",
    "cpus": "cpus",
    "memory_bytes": "memory_bytes",
}
"""Columns of a job that arrives, and what they are called in a workload."""


class Agenda:
    """Arrivals of a workload, and a timeline of other events.

    `arrived`: how many jobs have. `next_us`: when the next of anything is.
    """

    def __init__(
        self, workload: Workload, timeline: Sequence[TimedEvent], *, tells_durations: bool
    ) -> None:
        """`timeline`: what happens beside what the workload's users do. `tells_durations`: whether
        jobs arrive with their durations, for an oracle."""
        self._tells_durations = tells_durations
        self._arriving = np.stack([getattr(workload, name) for name in _ARRIVING.values()], axis=1)
        self._submit_us: list[int] = [*workload.submit_us.tolist(), NEVER_US]
        self._duration_us = workload.duration_us.tolist()
        first_us = self._submit_us[0]
        moves = workload.interventions.timeline() if workload.interventions else []
        merged = sorted([*moves, *timeline], key=lambda each: each[0])
        self._timeline = [(max(time_us, first_us), event) for time_us, event in merged]
        self._next = 0
        self.arrived = 0
        self.next_us: int = NEVER_US
        self._look()

    @property
    def job_count(self) -> int:
        """All jobs."""
        return len(self._duration_us)

    @property
    def has_arrivals(self) -> bool:
        """Whether jobs are still to come."""
        return self.arrived < len(self._duration_us)

    @property
    def has_timeline(self) -> bool:
        """Whether anything else is still to come."""
        return self._next < len(self._timeline)

    def arrivals(self, now_us: int) -> range:
        """Numbers of the jobs that arrive now."""
        first = self.arrived
        while self._submit_us[self.arrived] == now_us:
            self.arrived += 1
        self._look()
        return range(first, self.arrived)

    def submitted(self, number: int) -> dict[str, int]:
        """Columns of a job that arrives."""
        columns = dict(zip(_ARRIVING, self._arriving[number].tolist(), strict=True))
        if self._tells_durations:
            columns["remaining_us"] = self._duration_us[number]
        return columns

    def timeline(self, now_us: int) -> Iterator[Event]:
        """What else happens now."""
        while self.has_timeline and self._timeline[self._next][0] == now_us:
            self._next += 1
            self._look()
            yield self._timeline[self._next - 1][1]

    def capture(self) -> tuple[int, int]:
        """How many jobs have arrived, and how much else has happened."""
        return self.arrived, self._next

    def restore(self, captured: tuple[int, int]) -> None:
        """So much has happened."""
        self.arrived, self._next = captured
        self._look()

    def _look(self) -> None:
        timeline_us = self._timeline[self._next][0] if self.has_timeline else NEVER_US
        self.next_us = min(self._submit_us[self.arrived], timeline_us)
