"""The journal: durable, ordered, and of one master at a time."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from killed_append import KILLED
from motet.domain.errors import BadInput
from motet.live.journal.database import JournalInUse
from motet.live.journal.record import Record
from motet.live.journal.store import JournalDamaged, JournalLost, JournalStore, MasterSuperseded


def record(sequence: int, facts: str = "[]") -> Record:
    return Record(sequence, 1000 * sequence, "[]", facts, "[]", "1.0")


def test_records_come_back_in_order_after_the_journal_was_closed(tmp_path: Path) -> None:
    with JournalStore(str(tmp_path / "journal.db")) as store:
        store.append([record(1), record(2, '[{"kind": "é"}]')])
        store.append([record(3)])
    with JournalStore(str(tmp_path / "journal.db")) as store:
        assert [*store.records()] == [record(1), record(2, '[{"kind": "é"}]'), record(3)]
        assert [*store.records(first=3)] == [record(3)]
        assert store.next_sequence == 4


def test_more_records_than_a_page_come_back(tmp_path: Path) -> None:
    with JournalStore(str(tmp_path / "journal.db")) as store:
        store.append([record(number) for number in range(1, 2502)])
        assert [each.sequence for each in store.records()] == list(range(1, 2502))


def test_an_append_is_all_or_nothing(tmp_path: Path) -> None:
    with JournalStore(str(tmp_path / "journal.db")) as store:
        store.append([record(1)])
        with pytest.raises(JournalLost, match="UNIQUE"):
            store.append([record(2), record(1)])
        assert [*store.records()] == [record(1)]


def test_every_opening_begins_an_epoch(tmp_path: Path) -> None:
    epochs = []
    for _ in range(3):
        with JournalStore(str(tmp_path / "journal.db")) as store:
            epochs.append(store.epoch)
    assert epochs == [1, 2, 3]


def test_a_second_master_is_refused(tmp_path: Path) -> None:
    with (
        JournalStore(str(tmp_path / "journal.db")),
        pytest.raises(JournalInUse, match="another motet server uses this journal"),
    ):
        JournalStore(str(tmp_path / "journal.db"))


def test_a_master_whose_epoch_has_ended_appends_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with JournalStore(str(path)) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("UPDATE journal SET epoch = epoch + 1")
        other.close()
        with pytest.raises(MasterSuperseded, match="another server has taken over"):
            store.append([record(1)])
        assert [*store.records()] == []


def test_a_journal_of_a_later_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    JournalStore(str(path)).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("UPDATE journal SET format_version = 99")
    other.close()
    with pytest.raises(BadInput, match="format 99"):
        JournalStore(str(path))


def test_what_a_killed_process_acknowledged_is_there(tmp_path: Path) -> None:
    path = str(tmp_path / "journal.db")
    done = subprocess.run(
        [sys.executable, "-c", KILLED, path], stdout=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == -9
    with JournalStore(path) as store:
        assert [each.sequence for each in store.records()] == [*map(int, done.stdout.split())]


def test_the_files_are_private(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with JournalStore(str(tmp_path / "state" / "journal.db")):
            assert (tmp_path / "state").stat().st_mode & 0o077 == 0
    finally:
        os.umask(before)


@pytest.mark.parametrize(
    "address",
    [
        "nodatabase://x",
        "://",
        "sqlite:////proc/no/x.db",
        "oracle://x",
        "sqlite://",
        "sqlite:///:memory:",
    ],
)
def test_an_address_that_cannot_be_opened_is_one_clear_error(address: str) -> None:
    with pytest.raises(BadInput, match="--database"):
        JournalStore(address)


@pytest.mark.parametrize("start", ["postgresql+psycopg", "sqlite", "nodatabase", "bad url"])
def test_a_password_on_the_command_line_is_refused_and_not_repeated(start: str) -> None:
    with pytest.raises(BadInput, match="--database") as caught:
        JournalStore(f"{start}://me:hunter2@127.0.0.1/journal")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("column", ["at_us", "events", "facts", "actions", "software", "checksum"])
def test_a_changed_record_is_named(tmp_path: Path, column: str) -> None:
    path = three_records(tmp_path)
    changed = 2001 if column == "at_us" else "[ ]"
    change(path, f"UPDATE records SET {column} = ? WHERE sequence = 2", changed)
    with JournalStore(str(path)) as store:
        found = store.records()
        assert next(found) == record(1)
        with pytest.raises(JournalDamaged, match=r"record 2 of the journal .*checksum"):
            next(found)


def test_a_missing_record_is_named(tmp_path: Path) -> None:
    path = three_records(tmp_path)
    change(path, "DELETE FROM records WHERE sequence = ?", 2)
    with JournalStore(str(path)) as store, pytest.raises(JournalDamaged, match="record 2"):
        list(store.records())


def test_records_that_changed_places_are_noticed(tmp_path: Path) -> None:
    path = three_records(tmp_path)
    for here, there in ((2, 9), (3, 2), (9, 3)):
        change(path, f"UPDATE records SET sequence = {there} WHERE sequence = ?", here)
    with JournalStore(str(path)) as store, pytest.raises(JournalDamaged, match="record 2"):
        list(store.records())


def test_a_journal_without_checksums_is_read_and_protected_from_now_on(tmp_path: Path) -> None:
    path = three_records(tmp_path)
    change(path, "UPDATE journal SET format_version = ?", 1)
    for column in ("checksum", "decision"):
        change(path, f"ALTER TABLE records DROP COLUMN {column}")
    with JournalStore(str(path)) as store:
        assert [*store.records()] == [record(1), record(2), record(3)]
        store.append([record(4)])
    with JournalStore(str(path)) as store:
        store.append([record(5)])
        assert [*store.records()] == [record(number) for number in range(1, 6)]
    change(path, "UPDATE records SET checksum = NULL WHERE sequence = ?", 5)
    with JournalStore(str(path)) as store, pytest.raises(JournalDamaged, match="record 5"):
        list(store.records())


def three_records(folder: Path) -> Path:
    path = folder / "journal.db"
    with JournalStore(str(path)) as store:
        store.append([record(1)])
        store.append([record(2), record(3)])
    return path


def change(path: Path, statement: str, *values: object) -> None:
    """Change a journal behind Motet's back."""
    database = sqlite3.connect(path)
    with database:
        database.execute(statement, values)
    database.close()
