"""Where the GPUs came from that were the last to become free before a wait ended. Pure.

The decision log has the jobs in the way when a wait begins, and not those that follow them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from motet.domain.wait import WAITS
from motet.insight.holders.meanwhile import MOST_NAMED, HoldingFields
from motet.insight.story import Chapter, Story
from motet.insight.story_event import LastReleased, OtherJob

_LOSSES = ("preempt", "evict")
_OF_POLICIES = frozenset(wait.key for wait in WAITS)
"""Reasons of waits for which other jobs hold GPUs; others wait for ends of jobs, or the cluster."""


def with_last_released(story: Story, holdings: Iterable[HoldingFields]) -> Story:
    """The story; each wait for GPUs that other jobs held, and that ended in a run, has the jobs
    that were the last to release some in it.

    Where jobs shared GPUs meanwhile, it has none: the end of one job leaves them to the others.
    """
    followers = _followers(story.chapters)
    asked = [
        place
        for place, (chapter, follower) in enumerate(zip(story.chapters, followers, strict=True))
        if follower == "run" and _is_for_gpus(chapter)
    ]
    if not asked:
        return story
    chapters = [*story.chapters]
    first_us, last_us = chapters[asked[0]].from_us, chapters[asked[-1]].to_us or 0
    meanwhile = [each for each in map(_as_held, holdings) if each.is_within(first_us, last_us)]
    if any(each.is_shared for each in meanwhile):
        return story
    released = _Releases(story.record.job, meanwhile)
    for place in asked:
        chapters[place] = _with_released(chapters[place], released)
    return replace(story, chapters=tuple(chapters))


def _followers(chapters: tuple[Chapter, ...]) -> Iterator[str]:
    """The kind of the wait or run after each chapter; empty: there is none."""
    found, next_kind = [], ""
    for chapter in reversed(chapters):
        found.append(next_kind)
        next_kind = next_kind if chapter.kind == "moment" else chapter.kind
    return reversed(found)


def _is_for_gpus(chapter: Chapter) -> bool:
    """Whether it is a wait for GPUs that other jobs held."""
    because = chapter.because
    if chapter.kind != "wait" or chapter.to_us is None:
        return False
    return because.event in _LOSSES or (because.reason in _OF_POLICIES and bool(because.others))


def _with_released(wait: Chapter, released: _Releases) -> Chapter:
    assert wait.to_us is not None
    last = released.last(wait.from_us, wait.to_us)
    return wait if last is None else replace(wait, because=replace(wait.because, released=last))


class _Held(NamedTuple):
    """`released_us`: when other jobs could be given the GPUs; None: not yet."""

    job: str
    gpus: int
    from_us: int
    released_us: int | None
    is_shared: bool

    def is_within(self, from_us: int, to_us: int) -> bool:
        """Whether it was held at some time between these two, both included."""
        is_over = self.released_us is not None and self.released_us < from_us
        return self.from_us <= to_us and not is_over


def _as_held(holding: HoldingFields) -> _Held:
    job, gpus, from_us, to_us, taken_us, is_shared = holding
    return _Held(job, gpus, from_us, to_us if taken_us is None else taken_us, is_shared)


class _Releases:
    """The ends of the holdings of other jobs, in the order of time."""

    def __init__(self, job: str, holdings: Iterable[_Held]) -> None:
        self._of_job = defaultdict[str, list[_Held]](list)
        ends = list[tuple[int, _Held]]()
        for held in holdings:
            self._of_job[held.job].append(held)
            if held.job != job and held.released_us is not None:
                ends.append((held.released_us, held))
        self._ends = sorted(ends, key=lambda each: each[0])

    def last(self, from_us: int, to_us: int) -> LastReleased | None:
        """In a wait; None: no job released GPUs."""
        first, end = (
            bisect_right(self._ends, at_us, key=lambda each: each[0]) for at_us in (from_us, to_us)
        )
        found, last_us = list[OtherJob](), -1
        for at_us, holding in reversed(self._ends[first:end]):
            if found and at_us != last_us:
                break
            if (gpus := holding.gpus - self._held(holding.job, to_us)) > 0:
                found.append(OtherJob(holding.job, gpus))
                last_us = at_us
        if not found:
            return None
        found.reverse()
        return LastReleased(tuple(found[:MOST_NAMED]), len(found), to_us - last_us)

    def _held(self, job: str, at_us: int) -> int:
        """GPUs that a job holds: it may have other ones, or fewer, since it released some."""
        return sum(
            each.gpus
            for each in self._of_job[job]
            if each.from_us <= at_us and (each.released_us is None or each.released_us > at_us)
        )
