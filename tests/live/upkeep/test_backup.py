"""Backups of a journal that is being written, and what is refused."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.live.accounts.account_store import AccountStore
from motet.live.accounts.roles import UserRole
from motet.live.journal.reading import JournalReader
from motet.live.journal.record import Record
from motet.live.journal.store import JournalStore
from motet.live.journal.tables import JournalDamaged
from motet.live.upkeep.backup import back_up


def record(sequence: int) -> Record:
    return Record(sequence, 1000 * sequence, "[]", "[]", "[]", "1.0")


def test_a_backup_is_of_one_moment_while_the_master_appends(tmp_path: Path) -> None:
    journal, has_begun, is_over = tmp_path / "journal.db", threading.Event(), threading.Event()

    def append() -> None:
        with JournalStore(str(journal)) as store:
            number = 1
            while not is_over.is_set():
                store.append([record(number), record(number + 1)])
                number += 2
                if number > 100:
                    has_begun.set()

    writer = threading.Thread(target=append)
    writer.start()
    has_begun.wait()
    counts = []
    for each in range(3):
        target = tmp_path / f"backup-{each}"
        counts.append(back_up(journal, target))
        with JournalReader(str(target)) as reader:
            assert [found.sequence for found in reader.records()] == [*range(1, counts[-1] + 1)]
        assert counts[-1] % 2 == 0  # Records of one commit are all there, or none.
    is_over.set()
    writer.join()
    assert 100 <= counts[0] <= counts[1] <= counts[2]


def test_a_backup_is_one_private_file_with_the_users(tmp_path: Path) -> None:
    journal = tmp_path / "journal.db"
    with JournalStore(str(journal)) as store:
        store.append([record(1)])
        accounts = AccountStore("ann", "token")
        accounts.open(str(journal))
        accounts.create_user("bob", UserRole.USER, "ann")
        accounts.close()
        (tmp_path / "to").mkdir()
        back_up(journal, tmp_path / "to" / "backup")
    (found,) = (tmp_path / "to").iterdir()
    assert found.stat().st_mode & 0o777 == 0o600
    assert sqlite3.connect(found).execute("SELECT name FROM users").fetchall() == [("bob",)]


def test_what_cannot_be_backed_up_leaves_no_file(tmp_path: Path) -> None:
    journal, target = tmp_path / "journal.db", tmp_path / "backup"
    with pytest.raises(BadInput, match="there is no journal"):
        back_up(journal, target)
    with JournalStore(str(journal)) as store:
        store.append([record(1), record(2)])
    target.write_text("precious")
    with pytest.raises(BadInput, match="exists; name a new file"):
        back_up(journal, target)
    assert target.read_text() == "precious"
    with pytest.raises(BadInput, match="cannot be written"):
        back_up(journal, tmp_path / "missing" / "backup")
    with sqlite3.connect(journal) as connection:
        connection.execute("UPDATE records SET at_us = 7 WHERE sequence = 2")
    with pytest.raises(JournalDamaged, match=r"record 2 .*checksum"):
        back_up(journal, tmp_path / "other")
    assert not (tmp_path / "other").exists()
    assert not [each for each in tmp_path.iterdir() if each.name.startswith(".")]


def test_a_file_that_cannot_be_written_is_not_taken_for_a_damaged_journal(tmp_path: Path) -> None:
    """In a process that may write no larger files, as on a full disk."""
    journal = tmp_path / "journal.db"
    with JournalStore(str(journal)) as store:
        store.append([record(number) for number in range(1, 3000)])
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from motet.domain.errors import JobFailed\n"
        "from motet.live.upkeep.backup import back_up\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))\n"
        "try: back_up(*map(Path, sys.argv[1:]))\n"
        "except JobFailed as error: print(error)\n"
    )
    command = [sys.executable, "-c", code, journal, tmp_path / "backup"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "cannot be written (" in told
    assert told.endswith(f"; free some space in {tmp_path}\n")
    assert [*tmp_path.glob("*backup*")] == []


def test_the_name_of_a_journal_may_be_of_any_bytes(tmp_path: Path) -> None:
    journal = tmp_path / "journal.db"
    with JournalStore(str(journal)) as store:
        store.append([record(1)])
    renamed = tmp_path / os.fsdecode(b"\xff?.db")
    journal.rename(renamed)
    assert back_up(renamed, tmp_path / "backup") == 1
