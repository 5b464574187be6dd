"""Reading a journal beside its master."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.live.journal.reading import JournalReader
from motet.live.journal.record import Record
from motet.live.journal.store import JournalStore
from motet.live.journal.tables import JournalDamaged


def record(sequence: int) -> Record:
    return Record(sequence, 1000 * sequence, "[]", "[]", "[]", "1.0")


def test_a_reader_sees_what_the_master_appends_and_does_not_end_its_epoch(tmp_path: Path) -> None:
    address = str(tmp_path / "journal.db")
    with JournalStore(address) as store, JournalReader(address) as reader:
        store.append([record(1), record(2)])
        assert [*reader.records()] == [record(1), record(2)]
        store.append([record(3)])
        assert [*reader.records(first=3)] == [record(3)]
        assert [*reader.records(first=4)] == []
        store.append([record(4)])
    assert store.epoch == 1


def test_a_copy_without_write_permission_can_be_read(tmp_path: Path) -> None:
    address = tmp_path / "journal?of a%20day.db"
    with JournalStore(str(address)) as store:
        store.append([record(1)])
    address.chmod(0o400)
    with JournalReader(str(address)) as reader:
        assert [*reader.records()] == [record(1)]


def test_a_missing_journal_is_refused_and_not_created(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be opened"):
        JournalReader(str(tmp_path / "journal.db"))
    assert os.listdir(tmp_path) == []


def test_a_file_that_is_no_journal_is_refused(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE jobs (id)").connection.commit()
    (tmp_path / "text.db").write_text("not a database " * 100)
    for name in ("other.db", "text.db"):
        with pytest.raises(JournalDamaged), JournalReader(str(tmp_path / name)) as reader:
            list(reader.records())
