"""Time slices of a story in one line: what repeats itself tells nothing new."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from motet.domain.units import SECOND_US
from motet.insight.story import Chapter
from motet.insight.wording import duration_words

FEWEST_TURNS = 3
_OF_A_TURN = ("wait", "preempt")


@dataclass(frozen=True)
class Slices:
    """Turns of the same length, each of them ended by a preemption; `chapters`: all of theirs."""

    chapters: tuple[Chapter, ...]

    @property
    def from_us(self) -> int:
        """When the first begins."""
        return self.chapters[0].from_us

    @property
    def duration_us(self) -> int:
        """Until the wait after the last one ends, or begins if it never ends."""
        ends_us = (chapter.to_us or chapter.from_us for chapter in self.chapters)
        return max(ends_us) - self.from_us

    def sentence(self) -> str:
        """How many, how long and where, and what was waited in between."""
        runs, waits = (
            [each.duration_us or 0 for each in self.chapters if each.kind == kind]
            for kind in ("run", "wait")
        )
        machines = {name for each in self.chapters for name in _machines(each)}
        where = (
            f"on {next(iter(machines))}" if len(machines) == 1 else f"on {len(machines)} machines"
        )
        text = f"{len(runs)} turns of {duration_words(runs[0])} {where}, each ended by a preemption"
        if not waits:
            return text
        shortest, longest = duration_words(min(waits)), duration_words(max(waits))
        span = shortest if shortest == longest else f"{shortest} to {longest}"
        return f"{text}; waited {span} after each, {duration_words(sum(waits))} in all"


def folded(chapters: Sequence[Chapter]) -> list[Chapter | Slices]:
    """At least three equal turns in a row become one entry; the others stay as they are."""
    parts: list[Chapter | Slices] = []
    for length_s, turns in groupby(_turns(chapters), _slice_s):
        same = list(turns)
        inside = tuple(chapter for turn in same for chapter in turn)
        is_folded = length_s is not None and len(same) >= FEWEST_TURNS
        parts += [Slices(inside)] if is_folded else inside
    return parts


def _turns(chapters: Iterable[Chapter]) -> Iterator[list[Chapter]]:
    """A run and what follows until the next one."""
    turn: list[Chapter] = []
    for chapter in chapters:
        if chapter.kind == "run" and turn:
            yield turn
            turn = []
        turn.append(chapter)
    if turn:
        yield turn


def _slice_s(turn: Sequence[Chapter]) -> int | None:
    """How long the run of a turn was; None if it was ended by anything but a preemption."""
    run, *others = turn
    events = [chapter.because.event for chapter in others]
    if run.kind != "run" or not events or set(events) - set(_OF_A_TURN) or run.duration_us is None:
        return None
    return round(run.duration_us / SECOND_US)


def _machines(chapter: Chapter) -> Iterable[str]:
    return chapter.because.machines if chapter.kind == "run" else ()
