"""The record of a machine's subtasks is a ring that any program reads at any time."""

from __future__ import annotations

from pathlib import Path

from motet.runtime.arbiter.holding_log import (
    CAPACITY,
    Holding,
    HoldingLog,
    log_of,
    read_holdings,
)
from motet.runtime.core.subtask import SubtaskKind


def held(number: int) -> Holding:
    return Holding(10 * number, 10 * number + 5, SubtaskKind.COMP, str(number))


def test_a_further_arbiter_continues_the_record(tmp_path: Path) -> None:
    address = tmp_path / "m0"
    HoldingLog(address).add(held(1))
    HoldingLog(address).add(held(2))
    assert read_holdings(log_of(address)) == [held(1), held(2)]


def test_the_oldest_subtasks_are_overwritten(tmp_path: Path) -> None:
    log = HoldingLog(tmp_path / "m0")
    for number in range(1, CAPACITY + 11):
        log.add(held(number))
    found = read_holdings(log_of(tmp_path / "m0"))
    assert len(found) == CAPACITY
    assert (found[0], found[-1]) == (held(11), held(CAPACITY + 10))


def test_a_record_that_is_cut_off_is_read_up_to_there(tmp_path: Path) -> None:
    log, file = HoldingLog(tmp_path / "m0"), log_of(tmp_path / "m0")
    log.add(held(1))
    log.add(held(2))
    file.write_bytes(file.read_bytes()[:-1])
    assert read_holdings(file) == [held(1)]
    file.write_bytes(b"")
    assert read_holdings(file) == []
    assert read_holdings(tmp_path / "missing") == []
