"""The story of one job: a complete sequence of waits and runs from submission to end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

from motet.domain.errors import BadInput
from motet.domain.log_entry import MEASURE
from motet.insight.story_event import StoryEvent

Kind = Literal["wait", "run", "moment"]
_STOPS = ("preempt", "evict", "suspend")
_ENDS = ("finish", "cancel", "time_out", "fail")
_WAITS = ("wait", "unsuspend", *_STOPS)
_MOMENTS = (
    "promote",
    "demote",
    "unsuspend",
    "preempt",
    "evict",
    "propose",
    "keep",
    MEASURE,
    *_ENDS,
)
_BEGINS = ("start", "resume", "migrate", "resize", *_WAITS, *_ENDS)
_Numbered: TypeAlias = tuple[int, StoryEvent]
"""An event and its number among all of the job's."""
UNKNOWN_REASON = "unknown"
"""Reason of the time before the first decision about a job."""


@dataclass(frozen=True)
class JobRecord:
    """The job's row of `jobs.csv`. `end_us`: None if it did not finish."""

    job: str
    user: str
    queue: str
    gpus: int
    submit_us: int
    end_us: int | None


@dataclass(frozen=True)
class Chapter:
    """`because`: the event at its beginning. A moment has no duration; `to_us` is None if the
    simulation ended first.
    """

    kind: Kind
    from_us: int
    to_us: int | None
    because: StoryEvent

    @property
    def duration_us(self) -> int | None:
        """None without an end."""
        return None if self.to_us is None else self.to_us - self.from_us


@dataclass(frozen=True)
class Story:
    """`chapters`: in order; waits and runs are contiguous.

    `until_us`: the present time for a job that is still waiting or running; None: the simulation
    has ended.
    """

    record: JobRecord
    chapters: tuple[Chapter, ...]
    until_us: int | None = None

    @classmethod
    def of(
        cls, record: JobRecord, events: Sequence[StoryEvent], until_us: int | None = None
    ) -> Story:
        """The story from all events of the job, in order. Raises BadInput if events are missing."""
        _check(record, events)
        events = _with_last_measurements(events)
        found = [*_intervals(record, events), *_moments(events)]
        chapters = tuple(chapter for _, chapter in sorted(found, key=lambda it: it[0]))
        return cls(record, chapters, until_us)

    def lasted_us(self, chapter: Chapter) -> int | None:
        """Duration of a chapter until now or its end; None: unknown."""
        if chapter.to_us is None and self.until_us is not None:
            return self.until_us - chapter.from_us
        return chapter.duration_us

    @property
    def jct_us(self) -> int | None:
        """Submission to completion; None if the job did not finish."""
        end_us = self.record.end_us
        return None if end_us is None else end_us - self.record.submit_us

    @cached_property
    def running_us(self) -> int:
        """Time with GPUs, until the last known end."""
        return sum(self.lasted_us(each) or 0 for each in self.chapters if each.kind == "run")

    @cached_property
    def waiting_us(self) -> Mapping[str, int]:
        """Time without GPUs by reason, the longest first; excludes suspensions."""
        sums: dict[str, int] = {}
        for chapter in self.chapters:
            if chapter.kind == "wait" and chapter.because.event != "suspend":
                reason = chapter.because.reason or UNKNOWN_REASON
                sums[reason] = sums.get(reason, 0) + (self.lasted_us(chapter) or 0)
        return dict(sorted(sums.items(), key=lambda each: -each[1]))

    @property
    def overhead_us(self) -> int:
        """Time of checkpoints and restores within the time with GPUs."""
        return sum(chapter.because.overhead_us for chapter in self.chapters)

    def count(self, event: str) -> int:
        """Number of events of this kind."""
        return sum(chapter.because.event == event for chapter in self.chapters)


def _check(record: JobRecord, events: Sequence[StoryEvent]) -> None:
    ends_us = [each.time_us for each in events if each.event == "finish"]
    times_us = [record.submit_us, *(each.time_us for each in events)]
    expected = [] if record.end_us is None else [record.end_us]
    if not events or ends_us != expected or sorted(times_us) != times_us:
        raise BadInput(
            f"job {record.job}: its decisions and its row of jobs.csv are not of the same run, or "
            "some are missing; simulate again"
        )


def _intervals(
    record: JobRecord, events: Sequence[StoryEvent]
) -> Iterator[tuple[tuple[int, int], Chapter]]:
    """Waits and runs of positive length, with (begin, number of the first event)."""
    begins = [(number, each) for number, each in enumerate(events) if each.event in _BEGINS]
    if begins[0][1].time_us > record.submit_us:
        silence = StoryEvent(record.submit_us, "wait", record.gpus)
        begins.insert(0, (-1, silence))
    begins = _without_moves_in_line(begins)
    for (number, begin), end in zip(begins, [*begins[1:], None], strict=True):
        if begin.event in _ENDS:
            return
        to_us = None if end is None else end[1].time_us
        if to_us != begin.time_us:
            kind: Kind = "wait" if begin.event in _WAITS else "run"
            yield (begin.time_us, number), Chapter(kind, begin.time_us, to_us, begin)


def _with_last_measurements(events: Sequence[StoryEvent]) -> list[StoryEvent]:
    """Without measurements that a later one beside the same jobs covers."""
    found: list[StoryEvent] = []
    for each in events:
        before = found[-1] if found else None
        if before is not None and (before.event, before.others) == (MEASURE, each.others):
            found = found[:-1] if each.event == MEASURE else found
        found.append(each)
    return found


def _without_moves_in_line(begins: Sequence[_Numbered]) -> list[_Numbered]:
    """Waits that only a new place in line separates are one wait with its first and last place."""
    found: list[_Numbered] = []
    for number, each in begins:
        before = found[-1][1] if found else None
        if before is not None and each == _moved(before, each):
            found[-1] = (found[-1][0], replace(before, last_place=each.place))
        else:
            found.append((number, each))
    return found


def _moved(wait: StoryEvent, later: StoryEvent) -> StoryEvent | None:
    """The wait at the time and the place of a later event."""
    if wait.event != "wait" or wait.place is None or later.place is None:
        return None
    return replace(wait, time_us=later.time_us, place=later.place, last_place=None)


def _moments(events: Sequence[StoryEvent]) -> Iterator[tuple[tuple[int, int], Chapter]]:
    for number, each in enumerate(events):
        if each.event in _MOMENTS:
            yield (each.time_us, number), Chapter("moment", each.time_us, each.time_us, each)
