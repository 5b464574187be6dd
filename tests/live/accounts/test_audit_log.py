"""The audit log: complete, in order, and no burden for who waits for an answer."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.live.accounts.audit_log import AuditEntry, AuditLog
from waiting import wait_until


def entry(number: int, user: str = "ann") -> AuditEntry:
    return AuditEntry(number, user, "user", "t", "127.0.0.1", f"POST /{number}", "", 200)


@pytest.fixture
def address(tmp_path: Path) -> str:
    return str(tmp_path / "journal.db")


@pytest.fixture
def log(address: str) -> Iterator[AuditLog]:
    found = AuditLog()
    found.open(address)
    yield found
    found.close()


def test_entries_come_in_pages_the_latest_first(log: AuditLog) -> None:
    for number in range(1, 1201):
        log.record(entry(number, "bob" if number % 3 else "ann"))
    wait_until(lambda: len(log.entries(None, 2000)) == 1200)
    first = log.entries(None, 100)
    assert [each.at_us for _, each in first] == [*range(1200, 1100, -1)]
    second = log.entries(first[-1][0], 100)
    assert [each.at_us for _, each in second] == [*range(1100, 1000, -1)]
    assert {each.user for _, each in log.entries(None, 50, "ann")} == {"ann"}
    assert log.entries(first[-1][0], 1, "ann")[0][1] == entry(1098, "ann")


def test_closing_writes_what_waits(address: str) -> None:
    log = AuditLog()
    log.open(address)
    for number in range(1000):
        log.record(entry(number))
    log.close()
    [(count,)] = sqlite3.connect(address).execute("SELECT count(*) FROM audit")
    assert count == 1000


def test_recording_does_not_wait_for_a_locked_database(log: AuditLog, address: str) -> None:
    other = sqlite3.connect(address, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for number in range(50):
        log.record(entry(number))
    other.execute("COMMIT")
    wait_until(lambda: len(log.entries(None, 100)) == 50)


def test_old_entries_can_be_forgotten(log: AuditLog) -> None:
    for number in (1, 2, 3):
        log.record(entry(number))
    wait_until(lambda: len(log.entries(None, 10)) == 3)
    assert log.forget_before(3) == 2
    assert [each.at_us for _, each in log.entries(None, 10)] == [3]
