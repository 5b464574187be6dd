"""Decisions wait until the set of machines is stable, but not beyond a deadline."""

from __future__ import annotations

from motet.cruise.calibration.machine_groups import CandidateMachine
from motet.runtime.autotune.debounce import MachineDebounce, leaving_machines


def fleet(names: str, leaving: str = "") -> list[CandidateMachine]:
    """A machine for every letter."""
    return [CandidateMachine(ord(name), "machine", name in leaving) for name in names]


def answers(debounce: MachineDebounce, now_s: float) -> tuple[bool, bool]:
    """May machines be left now, may a gain be sought?"""
    return (
        debounce.is_stable(now_s, must_leave=True),
        debounce.is_stable(now_s, must_leave=False),
    )


def test_machines_that_are_there_from_the_start_delay_nothing() -> None:
    debounce = MachineDebounce()
    debounce.observe(fleet("abcd", leaving="d"), 100.0)
    assert answers(debounce, 100.0) == (True, True)


def test_machines_that_come_one_by_one_are_waited_for() -> None:
    debounce = MachineDebounce(notices_s=2, machines_s=3)
    debounce.observe(fleet("ab"), 0.0)
    debounce.observe(fleet("abc"), 10.0)
    debounce.observe(fleet("abcd"), 11.0)
    debounce.observe(fleet("abcd"), 13.9)
    assert not debounce.is_stable(13.9, must_leave=False)
    assert debounce.is_stable(14.0, must_leave=False)


def test_notices_that_come_one_by_one_are_waited_for() -> None:
    debounce = MachineDebounce(notices_s=2, machines_s=3)
    debounce.observe(fleet("abcd"), 0.0)
    debounce.observe(fleet("abcd", leaving="a"), 10.0)
    debounce.observe(fleet("abcd", leaving="ab"), 11.0)
    debounce.observe(fleet("abcd", leaving="ab"), 12.9)
    assert answers(debounce, 12.9) == (False, False)
    assert answers(debounce, 13.0) == (True, False)
    assert answers(debounce, 14.0) == (True, True)


def test_the_first_notice_does_not_wait_for_ever() -> None:
    debounce, names = MachineDebounce(notices_s=2, machines_s=3), "abcdefghij"
    debounce.observe(fleet(names), 0.0)
    for count in range(1, 9):
        debounce.observe(fleet(names, leaving=names[:count]), 100 + 1.5 * count)
        assert debounce.is_stable(100 + 1.5 * count, must_leave=True) == (count == 8)


def test_machines_that_come_or_go_do_not_delay_leaving_others() -> None:
    debounce = MachineDebounce(notices_s=2, machines_s=3)
    debounce.observe(fleet("abc", leaving="a"), 0.0)
    debounce.observe(fleet("abcd", leaving="ab"), 10.0)
    debounce.observe(fleet("bcde", leaving="b"), 12.0)
    assert answers(debounce, 12.0) == (True, False)


def test_only_machines_with_a_notice_leave() -> None:
    assert leaving_machines(fleet("abc", leaving="b")) == {ord("b")}
