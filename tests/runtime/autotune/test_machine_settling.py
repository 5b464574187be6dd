"""When a pilot decides about machines that come and go, and what it cuts short for them."""

from __future__ import annotations

from typing import Any

import pytest

from motet.cruise.calibration.machine_groups import CandidateMachine
from motet.cruise.decision import TuningDecision
from motet.cruise.trigger import TuningReason
from motet.domain.reconfiguration import Add, Delete, Move, Plan, RoleCounts
from motet.runtime.autotune.history import Turn
from motet.runtime.autotune.machine_settling import Settling, Underway
from motet.runtime.elastic.layout import Layout
from motet.runtime.elastic.plan_queue import Reconfiguration


def fleet(names: str, leaving: str = "") -> list[CandidateMachine]:
    """A machine for every letter."""
    return [CandidateMachine(ord(name), "machine", name in leaving) for name in names]


def answers(settling: Settling, now_s: float) -> tuple[bool, bool]:
    """May machines be left now, may a gain be sought?"""
    return (
        settling.is_settled(now_s, must_leave=True),
        settling.is_settled(now_s, must_leave=False),
    )


def test_machines_that_are_there_from_the_start_delay_nothing() -> None:
    settling = Settling()
    settling.look(fleet("abcd", leaving="d"), 100.0)
    assert answers(settling, 100.0) == (True, True)


def test_machines_that_come_one_by_one_are_waited_for() -> None:
    settling = Settling(notices_s=2, machines_s=3)
    settling.look(fleet("ab"), 0.0)
    settling.look(fleet("abc"), 10.0)
    settling.look(fleet("abcd"), 11.0)
    settling.look(fleet("abcd"), 13.9)
    assert not settling.is_settled(13.9, must_leave=False)
    assert settling.is_settled(14.0, must_leave=False)


def test_notices_that_come_one_by_one_are_waited_for() -> None:
    settling = Settling(notices_s=2, machines_s=3)
    settling.look(fleet("abcd"), 0.0)
    settling.look(fleet("abcd", leaving="a"), 10.0)
    settling.look(fleet("abcd", leaving="ab"), 11.0)
    settling.look(fleet("abcd", leaving="ab"), 12.9)
    assert answers(settling, 12.9) == (False, False)
    assert answers(settling, 13.0) == (True, False)
    assert answers(settling, 14.0) == (True, True)


def test_the_first_notice_does_not_wait_for_ever() -> None:
    settling, names = Settling(notices_s=2, machines_s=3), "abcdefghij"
    settling.look(fleet(names), 0.0)
    for count in range(1, 9):
        settling.look(fleet(names, leaving=names[:count]), 100 + 1.5 * count)
        assert settling.is_settled(100 + 1.5 * count, must_leave=True) == (count == 8)


def test_machines_that_come_or_go_do_not_delay_leaving_others() -> None:
    settling = Settling(notices_s=2, machines_s=3)
    settling.look(fleet("abc", leaving="a"), 0.0)
    settling.look(fleet("abcd", leaving="ab"), 10.0)
    settling.look(fleet("bcde", leaving="b"), 12.0)
    assert answers(settling, 12.0) == (True, False)


@pytest.mark.parametrize(
    ("leaving", "is_overlooked"),
    [
        ("a", False),  # The plan leads away from it.
        ("ab", True),  # An executor is there.
        ("ac", True),  # One is about to be started there.
        ("ad", False),  # It has nothing to do with the job.
        ("ae", False),  # It is left anyway.
    ],
)
def test_what_does_not_know_that_its_machines_leave_is_noticed(
    leaving: str, is_overlooked: bool
) -> None:
    a, b, c, e = map(ord, "abce")
    plan = Plan.of([Add(c, "worker"), Move("data", (0,), a, c), Delete(e)])
    count = RoleCounts(1, 1)
    turn = Turn(0, 0.0, TuningDecision(TuningReason.DRAIN, count, count, 3, plan=plan))
    under_way = Underway(Reconfiguration(_never), turn, frozenset({a}))
    assert under_way.overlooks(set(map(ord, leaving)), {a, b, e}) is is_overlooked


def _never(layout: Layout) -> Any:
    raise AssertionError("it is not carried out here")
