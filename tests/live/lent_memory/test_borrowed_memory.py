"""When the master is told what attempts have borrowed."""

from __future__ import annotations

from dataclasses import replace

from motet.live.lent_memory.borrowed_memory import BorrowedMemoryLog
from motet.live.lent_memory.cluster_lenders import LenderStatus
from motet.live.master.facts import MemoryBorrowed
from motet.remote_memory.wire.memory_views import LenderView

VIEW = LenderView("127.0.0.1:7400", 10, 100, 50, 10, 0, 0, 0, 0, 0)
RUNNING = {"motet-3-a.2": (3, 2)}


def lender(number: int, **byte_s: float) -> LenderStatus:
    """`byte_s`: by the attempt of job 3."""
    borrowed = {f"run:motet-3-a.{each[1:]}": value for each, value in byte_s.items()}
    return LenderStatus(number, "m0", replace(VIEW, borrowed_byte_s=borrowed), "")


def test_a_running_attempt_is_told_seldom_and_one_that_has_ended_at_once() -> None:
    told: list[MemoryBorrowed] = []
    log = BorrowedMemoryLog(told.append)
    log.seen([lender(0, a2=5.0), lender(1, a2=7.4)], RUNNING, is_current=True)
    assert told == [MemoryBorrowed(3, 2, {"0": 5, "1": 7})]
    log.seen([lender(0, a2=6.0), lender(1, a2=8.0)], RUNNING, is_current=True)
    assert len(told) == 1, "a minute has not passed"
    log.seen([lender(0, a2=6.0), lender(1, a2=8.0)], {}, is_current=True)
    log.seen([lender(0, a2=6.0), lender(1, a2=8.0)], {}, is_current=True)
    assert told[1:] == [MemoryBorrowed(3, 2, {"0": 6, "1": 8})]


def test_attempts_of_another_life_of_the_cluster_are_not_its_own() -> None:
    """After a restore, a job may have the number of another one."""
    told: list[MemoryBorrowed] = []
    BorrowedMemoryLog(told.append).seen([lender(0, a1=5.0)], RUNNING, is_current=True)
    assert told == []


def test_a_lender_that_is_silent_for_a_while_may_tell_the_rest_later() -> None:
    told: list[MemoryBorrowed] = []
    log = BorrowedMemoryLog(told.append)
    log.seen([lender(0)], RUNNING, is_current=True)
    log.seen([LenderStatus(0, "m0", None, "silent")], {}, is_current=True)
    log.seen([lender(0, a2=9.0)], {}, is_current=True)
    assert told == [MemoryBorrowed(3, 2, {"0": 9})]


def test_an_account_is_awaited_from_a_lender_that_has_not_answered_since_the_end() -> None:
    told: list[MemoryBorrowed] = []
    log = BorrowedMemoryLog(told.append)
    log.seen([lender(0)], RUNNING, is_current=True)
    log.seen([lender(0)], {}, is_current=False)
    log.seen([lender(0, a2=9.0)], {}, is_current=True)
    assert told == [MemoryBorrowed(3, 2, {"0": 9})]
