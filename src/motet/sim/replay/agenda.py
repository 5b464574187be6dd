"""Timed events: arrivals and completions of jobs, user interventions, machine events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush

import numpy as np

from motet.domain.events import Event
from motet.domain.units import NEVER_US
from motet.engine.state.cluster_state import ClusterState
from motet.sim.workload.interventions import TimedEvent
from motet.sim.workload.workload import Workload

_SOURCE_OF_COLUMN = {
    "queue": "queue",
    "experiment": "experiment",
    "submit_us": "submit_us",
    "model": "model",
    "gpus": "gpus",
    "cpus": "cpus",
    "memory_bytes": "memory_bytes",
}
"""Columns of an arriving job, and their names in a workload."""

_OF_RELEASE = ("submit_us", "priority")
"""Columns of a released job that differ from those of the workload, or that it has not."""

_FORMER_TIMES, _FEW = 4, 1000
"""The heap of completions is made anew when it has more entries than so many per job, and some."""


class Agenda:
    """Arrivals of a workload, and a timeline of other events.

    `arrived`: number of arrived jobs. `next_us`: time of the next arrival or event.
    """

    def __init__(
        self, workload: Workload, timeline: Sequence[TimedEvent], *, with_durations: bool
    ) -> None:
        """`timeline`: events beside the interventions of the workload. `with_durations`: whether
        jobs arrive with their durations, for policies that require them.
        """
        self._with_durations = with_durations
        self._arriving = np.stack(
            [getattr(workload, name) for name in _SOURCE_OF_COLUMN.values()], axis=1
        )
        arrives = workload.submit_us if workload.arrival_us is None else workload.arrival_us
        self._arrives_us: list[int] = [*arrives.tolist(), NEVER_US]
        self._duration_us = workload.duration_us.tolist()
        first_us = self._arrives_us[0]
        moves = workload.interventions.timeline() if workload.interventions else []
        merged = sorted([*moves, *timeline], key=lambda each: each[0])
        self._timeline = [(max(time_us, first_us), event) for time_us, event in merged]
        self._released: dict[int, Mapping[str, int]] = {}
        self._next = 0
        self.arrived = 0
        self.next_us: int = NEVER_US
        self._update_next()

    @property
    def job_count(self) -> int:
        """The number of jobs."""
        return len(self._duration_us)

    @property
    def has_arrivals(self) -> bool:
        """Whether further jobs will arrive."""
        return self.arrived < len(self._duration_us)

    @property
    def has_timeline(self) -> bool:
        """Whether the timeline has further events."""
        return self._next < len(self._timeline)

    def release(self, at_us: int, columns: Mapping[str, int]) -> None:
        """Let the next job of those that would never arrive do so. `columns`: of which
        _OF_RELEASE count. A capture does not contain this."""
        number = self._arrives_us.index(NEVER_US)
        assert number < self.job_count, "all jobs have arrived"
        self._arrives_us[number] = at_us
        self._released[number] = columns
        self._update_next()

    def arrivals(self, now_us: int) -> range:
        """Numbers of the jobs that arrive now."""
        first = self.arrived
        while self._arrives_us[self.arrived] == now_us:
            self.arrived += 1
        if self.arrived > first:
            self._update_next()
        return range(first, self.arrived)

    def submitted(self, number: int) -> dict[str, int]:
        """Columns of an arriving job."""
        columns = dict(zip(_SOURCE_OF_COLUMN, self._arriving[number].tolist(), strict=True))
        if self._with_durations:
            columns["remaining_us"] = self._duration_us[number]
        if released := self._released.get(number):
            columns |= {name: released[name] for name in _OF_RELEASE if name in released}
        return columns

    def timeline(self, now_us: int) -> Iterator[Event]:
        """The other events of this instant."""
        while self._timeline_us == now_us:
            event = self._timeline[self._next][1]
            self._next += 1
            self._update_next()
            yield event

    def capture(self) -> tuple[int, int]:
        """Numbers of arrived jobs and of past events."""
        return self.arrived, self._next

    def restore(self, captured: tuple[int, int]) -> None:
        """Continue after these numbers of arrivals and events."""
        self.arrived, self._next = captured
        self._update_next()

    def _update_next(self) -> None:
        self._timeline_us = self._timeline[self._next][0] if self.has_timeline else NEVER_US
        self.next_us = min(self._arrives_us[self.arrived], self._timeline_us)


class Completions:
    """When jobs will be complete at their present speeds: the column `finish_us`, and a heap.

    The heap also has the former times of jobs, which are dropped when they come up.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._finish_us: dict[int, int] = {}
        self._heap: list[tuple[int, int]] = []

    @property
    def next_us(self) -> int:
        """The next time; NEVER_US: no job trains."""
        heap, known_us = self._heap, self._finish_us
        while heap:
            finish_us, number = heap[0]
            if known_us.get(number) == finish_us:
                return finish_us
            heappop(heap)
        return NEVER_US

    def set(self, number: int, row: int, finish_us: int) -> None:
        """A job trains, and will be complete at this time."""
        self._state.table.column("finish_us")[row] = finish_us
        self._finish_us[number] = finish_us
        heappush(self._heap, (finish_us, number))
        if len(self._heap) > _FORMER_TIMES * len(self._finish_us) + _FEW:
            self._make_heap()

    def stop(self, number: int, row: int) -> None:
        """A job trains no more."""
        self._state.table.column("finish_us")[row] = NEVER_US
        self._finish_us.pop(number, None)

    def left(self, number: int) -> None:
        """A job leaves."""
        self._finish_us.pop(number, None)

    def take(self, now_us: int) -> list[int]:
        """The jobs that are complete now, ascending; each is given once."""
        found: list[int] = []
        while self.next_us == now_us:
            _, number = heappop(self._heap)
            del self._finish_us[number]
            found.append(number)
        return found

    def restore(self) -> None:
        """Continue with the times of the column."""
        table = self._state.table
        finish_us, number = table.column("finish_us"), table.jobs.number
        trains = finish_us < NEVER_US
        ends = zip(number[trains].tolist(), finish_us[trains].tolist(), strict=True)
        self._finish_us = dict(ends)
        self._make_heap()

    def _make_heap(self) -> None:
        self._heap = [(finish_us, number) for number, finish_us in self._finish_us.items()]
        heapify(self._heap)
