"""Instances that a victim gives away are computed and returned exactly once."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from motet.runtime.core.rows import Rows
from motet.runtime.stealing.victim import OfferedPart, StealAnswer, StealRequest, Victim
from motet.runtime.wire.errors import StaleGeneration
from motet.runtime.worker.batch_rows import BatchRows


class ManualClock:
    """Microseconds, set by the test."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


def rows(count: int) -> BatchRows:
    columns = {"x": np.arange(count) * 1.0, "state": np.zeros(count)}
    return BatchRows([Rows(np.arange(count), columns)])


def split(own_us: float = 100.0, link: float = float("inf")) -> Victim:
    victim = Victim(ManualClock())
    victim.open(OfferedPart(7, rows(12), [2] * 6), own_us, crowd=1, link=link)
    return victim


def steal_request(
    number: int, clock: int = 7, all_in_us: float | None = 1.0, session: str = "a"
) -> StealRequest:
    return StealRequest(
        thief=3, session=session, number=number, clock=clock, own_us=1.0, all_in_us=all_in_us
    )


def asked(victim: Victim, steal_request: StealRequest) -> StealAnswer:
    """The immediate answer."""
    answers: list[StealAnswer] = []
    victim.request(steal_request, answers.append)
    return answers[0]


def returned(low: int, count: int, value: float) -> tuple[int, Rows]:
    return low, Rows(np.arange(low, low + count), {"state": np.full(count, value)})


def test_a_repeated_request_gets_the_same_instances() -> None:
    victim = split()
    first, again = asked(victim, steal_request(1)), asked(victim, steal_request(1))
    assert again is first
    assert asked(victim, steal_request(2)).stolen is not first.stolen


def test_a_worker_that_left_and_came_back_gets_other_instances() -> None:
    victim = split()
    before, after = (asked(victim, steal_request(1, session=session)).stolen for session in "ab")
    assert before is not None
    assert after is not None
    assert after.high <= before.low


def test_a_request_for_an_earlier_mini_batch_gets_nothing() -> None:
    assert asked(split(), steal_request(1, clock=6)).stolen is None


def test_an_early_request_is_answered_when_its_mini_batch_begins() -> None:
    victim, answers = split(), list[StealAnswer]()
    victim.request(steal_request(1, clock=8), answers.append)
    victim.finish_own()
    victim.await_states(has_state=False)
    assert answers == []
    victim.open(OfferedPart(8, rows(12), [2] * 6), 100.0, crowd=1, link=1.0)
    assert answers[0].stolen is not None


def test_early_requests_are_answered_when_the_generation_ends() -> None:
    victim, answers = split(), list[StealAnswer]()
    victim.request(steal_request(1, clock=8), answers.append)
    victim.end()
    assert [answer.stolen for answer in answers] == [None]


def test_a_whole_part_is_not_given_away_but_its_lateness_is_reported() -> None:
    clock = ManualClock()
    victim = Victim(clock)
    victim.open(OfferedPart(7, rows(12)), own_us=1_000.0, crowd=1, link=1.0)
    clock.now = 11_000
    assert not asked(victim, steal_request(1)).is_late
    assert not victim.is_wanted
    clock.now = 20_000
    assert asked(victim, steal_request(2)).is_late
    assert not victim.is_wanted, "once may be chance"
    victim.open(OfferedPart(8, rows(12)), own_us=1_000.0, crowd=1, link=1.0)
    assert asked(victim, steal_request(3, clock=8)).is_late
    assert victim.is_wanted


def test_a_worker_that_has_finished_is_not_late() -> None:
    victim = Victim(ManualClock())
    victim.open(OfferedPart(7, rows(12)), own_us=1_000.0, crowd=1, link=1.0)
    victim.finish_own()
    assert not asked(victim, steal_request(1)).is_late


def test_splitting_ends_after_three_mini_batches_without_a_request() -> None:
    victim = split()
    asked(victim, steal_request(1))
    wanted = []
    for clock in range(8, 12):
        victim.finish_own()
        victim.await_states(has_state=False)
        wanted.append(victim.is_wanted)
        victim.open(OfferedPart(clock, rows(12)), 100.0, crowd=1, link=1.0)
    assert wanted == [True, True, True, False]


def test_nothing_is_given_away_where_the_transfer_takes_longer_than_the_work() -> None:
    assert asked(split(own_us=100.0, link=0.01), steal_request(1, all_in_us=None)).stolen is None
    assert (
        asked(split(own_us=100.0, link=10.0), steal_request(1, all_in_us=None)).stolen is not None
    )


def test_returned_state_is_written_to_its_instances_once() -> None:
    victim = Victim(ManualClock())
    part = OfferedPart(7, rows(12), [2] * 6)
    victim.open(part, 100.0, crowd=1, link=1.0)
    stolen = asked(victim, steal_request(1)).stolen
    assert stolen is not None
    count = stolen.high - stolen.low
    victim.return_state(7, *returned(stolen.low, count, 5.0))
    victim.return_state(7, *returned(stolen.low, count, 9.0))
    victim.finish_own()
    victim.await_states(has_state=True)
    assert part.rows.slice(0, 12)["state"].tolist() == [0.0] * stolen.low + [5.0] * count


def test_state_of_an_earlier_mini_batch_changes_nothing() -> None:
    victim = Victim(ManualClock())
    part = OfferedPart(8, rows(12), [2] * 6)
    victim.open(part, 100.0, crowd=1, link=1.0)
    asked(victim, steal_request(1, clock=8))
    victim.return_state(7, *returned(10, 2, 5.0))
    assert not part.rows.slice(0, 12)["state"].any()


def test_the_mini_batch_ends_when_all_state_is_returned() -> None:
    victim = split()
    stolen = asked(victim, steal_request(1)).stolen
    assert stolen is not None
    victim.finish_own()
    settled = threading.Event()

    def settle() -> None:
        victim.await_states(has_state=True)
        settled.set()

    thread = threading.Thread(target=settle)
    thread.start()
    assert not settled.is_set()
    victim.return_state(7, *returned(stolen.low, stolen.high - stolen.low, 1.0))
    thread.join(timeout=100)
    assert settled.is_set()


def test_the_end_of_the_generation_ends_the_wait_for_state() -> None:
    victim = split()
    asked(victim, steal_request(1))
    victim.finish_own()
    timer = threading.Timer(0.0, victim.end)
    timer.start()
    with pytest.raises(StaleGeneration):
        victim.await_states(has_state=True)
    timer.join()


def test_a_victim_computes_the_rest_when_thieves_do_not_return() -> None:
    victim = split(own_us=1_000.0)
    assert asked(victim, steal_request(1)).stolen is not None
    units = []
    while (found := victim.next_own()) is not None:
        units += found
    assert units == list(range(len(units)))
    assert units
