"""`motet server backup` to standard output."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from motet.live.journal.reading import JournalReader
from motet.live.journal.record import Record
from motet.live.journal.store import JournalStore

_BACKUP = (sys.executable, "-m", "motet.interfaces.cli", "server", "backup", "-", "--state-dir")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    with JournalStore(str(folder / "journal.db")) as store:
        store.append([Record(1, 1000, "[]", "[]", "[]", "1.0")])
    return folder


def test_a_dash_is_standard_output(state: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    ended = subprocess.run([*_BACKUP, state], cwd=elsewhere, capture_output=True, check=False)
    assert (ended.returncode, list(elsewhere.iterdir())) == (0, [])
    size = len(ended.stdout)
    assert ended.stderr.decode() == f"1 record, {size:,} bytes written to stdout\n"
    (tmp_path / "copy.db").write_bytes(ended.stdout)
    with JournalReader(str(tmp_path / "copy.db")) as reader:
        assert [found.sequence for found in reader.records()] == [1]


@pytest.mark.soak
def test_the_note_comes_after_the_whole_backup(state: Path) -> None:
    both = subprocess.run(
        [*_BACKUP, state], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True
    ).stdout
    note = both[both.rindex(b"1 record, ") :]
    size = len(both) - len(note)
    assert note.decode() == f"1 record, {size:,} bytes written to stdout\n"


@pytest.mark.soak
def test_without_room_for_the_copy_another_folder_is_proposed(state: Path, tmp_path: Path) -> None:
    with JournalStore(str(state / "journal.db")) as store:
        store.append([Record(n, 1000 * n, "[]", "[]", "[]", "1.0") for n in range(2, 3000)])
    limited = ["sh", "-c", 'ulimit -f 128; exec "$@"', "sh", *_BACKUP, state]
    ended = subprocess.run(limited, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "cannot be written (" in ended.stderr
    assert "or name another folder in TMPDIR" in ended.stderr
