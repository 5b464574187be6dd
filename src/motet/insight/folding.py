"""Folding of repeated time slices of a story into one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from motet.domain.units import SECOND_US, duration_words
from motet.insight.story import Chapter

FEWEST_SLICES = 3
_SLICE_EVENTS = ("wait", "preempt")


@dataclass(frozen=True)
class Slices:
    """Time slices of equal length, each ended by a preemption; `chapters`: of all slices."""

    chapters: tuple[Chapter, ...]

    @property
    def from_us(self) -> int:
        """The begin of the first slice."""
        return self.chapters[0].from_us

    @property
    def duration_us(self) -> int:
        """Duration until the end of the wait after the last slice, or its begin if it
        never ends.
        """
        ends_us = (chapter.to_us or chapter.from_us for chapter in self.chapters)
        return max(ends_us) - self.from_us

    def sentence(self) -> str:
        """Number, length and machines of the slices, and the waits between them."""
        runs, waits = (
            [each.duration_us or 0 for each in self.chapters if each.kind == kind]
            for kind in ("run", "wait")
        )
        machines = {name for each in self.chapters for name in _machines(each)}
        where = (
            f"on {next(iter(machines))}" if len(machines) == 1 else f"on {len(machines)} machines"
        )
        slices = f"{len(runs)} time slices of {duration_words(runs[0])}"
        text = f"{slices} {where}, each ended by a preemption"
        if not waits:
            return text
        shortest, longest = duration_words(min(waits)), duration_words(max(waits))
        span = shortest if shortest == longest else f"{shortest} to {longest}"
        return f"{text}; waited {span} after each, {duration_words(sum(waits))} in all"


def folded(chapters: Sequence[Chapter]) -> list[Chapter | Slices]:
    """Chapters with at least three equal consecutive slices folded into one entry."""
    parts: list[Chapter | Slices] = []
    for length_s, turns in groupby(_slices(chapters), _slice_s):
        same = list(turns)
        inside = tuple(chapter for group in same for chapter in group)
        is_folded = length_s is not None and len(same) >= FEWEST_SLICES
        parts += [Slices(inside)] if is_folded else inside
    return parts


def _slices(chapters: Iterable[Chapter]) -> Iterator[list[Chapter]]:
    """Groups of a run and the chapters until the next run."""
    group: list[Chapter] = []
    for chapter in chapters:
        if chapter.kind == "run" and group:
            yield group
            group = []
        group.append(chapter)
    if group:
        yield group


def _slice_s(group: Sequence[Chapter]) -> int | None:
    """Length of a slice's run in seconds; None unless a preemption ended it."""
    run, *others = group
    events = [chapter.because.event for chapter in others]
    if (
        run.kind != "run"
        or not events
        or set(events) - set(_SLICE_EVENTS)
        or run.duration_us is None
    ):
        return None
    return round(run.duration_us / SECOND_US)


def _machines(chapter: Chapter) -> Iterable[str]:
    return chapter.because.machines if chapter.kind == "run" else ()
