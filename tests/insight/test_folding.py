"""Time slices fold, what else happens stays."""

from __future__ import annotations

from motet.domain.units import SECOND_US
from motet.insight.folding import Slices, folded
from motet.insight.story import Chapter, Kind
from motet.insight.story_event import StoryEvent


def chapter(kind: Kind, event: str, from_s: int, to_s: int, machine: str = "m0") -> Chapter:
    because = StoryEvent(from_s * SECOND_US, event, 1, machines={machine: 1})
    return Chapter(kind, from_s * SECOND_US, to_s * SECOND_US, because)


def turns(lengths: list[int], wait_s: int = 30) -> list[Chapter]:
    """Run, preemption and wait for each length, one after the other."""
    found, now_s = [], 0
    for place, length_s in enumerate(lengths):
        end_s = now_s + length_s
        found.append(chapter("run", "resume", now_s, end_s, f"m{place}"))
        found.append(chapter("moment", "preempt", end_s, end_s))
        found.append(chapter("wait", "preempt", end_s, end_s + wait_s + place))
        now_s = end_s + wait_s + place
    return found


def test_consecutive_equal_slices_are_one_entry() -> None:
    (slices,) = folded(turns([60, 60, 60]))

    assert isinstance(slices, Slices)
    assert slices.duration_us == (3 * 60 + 30 + 31 + 32) * SECOND_US
    assert slices.sentence() == (
        "3 time slices of 1 min on 3 machines, each ended by a preemption; "
        "waited 30 s to 32 s after each, 1 min 33 s in all"
    )


def test_different_or_few_slices_are_not_folded() -> None:
    for lengths in ([60, 60], [60, 50, 60, 50]):
        assert folded(turns(lengths)) == turns(lengths)


def test_other_events_are_not_folded() -> None:
    chapters = turns([60] * 7)
    demotion = chapter("moment", "demote", 400, 400)
    first, *middle, last = folded([*chapters[:10], demotion, *chapters[10:]])

    assert middle == [*chapters[9:10], demotion, *chapters[10:12]]
    assert [len(each.chapters) for each in (first, last) if isinstance(each, Slices)] == [9, 9]


def test_a_wait_before_and_an_end_stay() -> None:
    begin, end = chapter("wait", "wait", -9, 0), chapter("moment", "finish", 999, 999)
    first, slices, *rest = folded([begin, *turns([60] * 4), chapter("run", "resume", 9, 20), end])

    assert (first, rest[-1]) == (begin, end)
    assert isinstance(slices, Slices)
