"""Handout: what a late worker gives away comes back exactly once."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from motet.runtime.core.rows import Rows
from motet.runtime.stealing.victim import Answer, Handout, Part, Question
from motet.runtime.wire.errors import StaleGeneration


class ManualClock:
    """Microseconds that pass when told so."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


def rows(count: int) -> Rows:
    return Rows(np.arange(count), {"x": np.arange(count) * 1.0, "state": np.zeros(count)})


def divided(own_us: float = 100.0, link: float = float("inf")) -> Handout:
    handout = Handout(ManualClock())
    handout.open(Part(7, rows(12), [2] * 6), own_us, crowd=1, link=link)
    return handout


def question(
    number: int, clock: int = 7, all_in_us: float | None = 1.0, session: str = "a"
) -> Question:
    return Question(
        helper=3, session=session, number=number, clock=clock, own_us=1.0, all_in_us=all_in_us
    )


def asked(handout: Handout, question: Question) -> Answer:
    """What it answers at once."""
    answers: list[Answer] = []
    handout.ask(question, answers.append)
    return answers[0]


def returned(low: int, count: int, value: float) -> tuple[int, Rows]:
    return low, Rows(np.arange(low, low + count), {"state": np.full(count, value)})


def test_the_same_question_gets_the_same_instances_again() -> None:
    handout = divided()
    first, again = asked(handout, question(1)), asked(handout, question(1))
    assert again is first
    assert asked(handout, question(2)).grant is not first.grant


def test_a_worker_that_left_and_came_back_is_not_given_what_it_had_before() -> None:
    handout = divided()
    before, after = (asked(handout, question(1, session=session)).grant for session in "ab")
    assert before is not None
    assert after is not None
    assert after.high <= before.low


def test_of_another_mini_batch_there_is_nothing() -> None:
    assert asked(divided(), question(1, clock=6)).grant is None


def test_a_question_that_comes_too_early_is_answered_when_the_mini_batch_begins() -> None:
    handout, answers = divided(), list[Answer]()
    handout.ask(question(1, clock=8), answers.append)
    handout.finish_own()
    handout.settle(has_state=False)
    assert answers == []
    handout.open(Part(8, rows(12), [2] * 6), 100.0, crowd=1, link=1.0)
    assert answers[0].grant is not None


def test_early_questions_are_answered_when_the_generation_ends() -> None:
    handout, answers = divided(), list[Answer]()
    handout.ask(question(1, clock=8), answers.append)
    handout.end()
    assert [answer.grant for answer in answers] == [None]


def test_an_undivided_part_is_not_given_away_but_its_lateness_is_told() -> None:
    clock = ManualClock()
    handout = Handout(clock)
    handout.open(Part(7, rows(12)), own_us=1_000.0, crowd=1, link=1.0)
    clock.now = 11_000
    assert not asked(handout, question(1)).is_late
    assert not handout.is_wanted
    clock.now = 20_000
    assert asked(handout, question(2)).is_late
    assert not handout.is_wanted, "once may be chance"
    handout.open(Part(8, rows(12)), own_us=1_000.0, crowd=1, link=1.0)
    assert asked(handout, question(3, clock=8)).is_late
    assert handout.is_wanted


def test_who_has_finished_is_not_late() -> None:
    handout = Handout(ManualClock())
    handout.open(Part(7, rows(12)), own_us=1_000.0, crowd=1, link=1.0)
    handout.finish_own()
    assert not asked(handout, question(1)).is_late


def test_units_end_when_nobody_has_asked_for_three_mini_batches() -> None:
    handout = divided()
    asked(handout, question(1))
    wanted = []
    for clock in range(8, 12):
        handout.finish_own()
        handout.settle(has_state=False)
        wanted.append(handout.is_wanted)
        handout.open(Part(clock, rows(12)), 100.0, crowd=1, link=1.0)
    assert wanted == [True, True, True, False]


def test_nothing_is_given_where_the_way_takes_longer_than_the_work() -> None:
    assert asked(divided(own_us=100.0, link=0.01), question(1, all_in_us=None)).grant is None
    assert asked(divided(own_us=100.0, link=10.0), question(1, all_in_us=None)).grant is not None


def test_state_that_comes_back_is_put_where_it_belongs_once() -> None:
    handout = Handout(ManualClock())
    part = Part(7, rows(12), [2] * 6)
    handout.open(part, 100.0, crowd=1, link=1.0)
    grant = asked(handout, question(1)).grant
    assert grant is not None
    count = grant.high - grant.low
    handout.take_back(7, *returned(grant.low, count, 5.0))
    handout.take_back(7, *returned(grant.low, count, 9.0))
    handout.finish_own()
    handout.settle(has_state=True)
    assert part.rows["state"].tolist() == [0.0] * grant.low + [5.0] * count


def test_state_of_an_earlier_mini_batch_changes_nothing() -> None:
    handout = Handout(ManualClock())
    part = Part(8, rows(12), [2] * 6)
    handout.open(part, 100.0, crowd=1, link=1.0)
    asked(handout, question(1, clock=8))
    handout.take_back(7, *returned(10, 2, 5.0))
    assert not part.rows["state"].any()


def test_the_mini_batch_ends_when_all_state_is_back() -> None:
    handout = divided()
    grant = asked(handout, question(1)).grant
    assert grant is not None
    handout.finish_own()
    settled = threading.Event()

    def settle() -> None:
        handout.settle(has_state=True)
        settled.set()

    thread = threading.Thread(target=settle)
    thread.start()
    assert not settled.is_set()
    handout.take_back(7, *returned(grant.low, grant.high - grant.low, 1.0))
    thread.join(timeout=30)
    assert settled.is_set()


def test_the_end_of_the_generation_wakes_who_waits_for_state() -> None:
    handout = divided()
    asked(handout, question(1))
    handout.finish_own()
    timer = threading.Timer(0.0, handout.end)
    timer.start()
    with pytest.raises(StaleGeneration):
        handout.settle(has_state=True)
    timer.join()


def test_a_worker_goes_on_itself_when_helpers_do_not_come_again() -> None:
    handout = divided(own_us=1_000.0)
    assert asked(handout, question(1)).grant is not None
    units = []
    while (found := handout.next_own()) is not None:
        units += found
    assert units == list(range(len(units)))
    assert units
