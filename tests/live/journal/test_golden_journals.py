"""Journals that released formats hold are read by this version, with nothing lost."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from golden_journal import GOLDEN_CLUSTER, told
from motet.live.journal.reading import JournalReader
from motet.live.journal.store import JournalStore
from motet.live.master.master import Master
from motet.live.master.requests import Workplace

GOLDEN = Path(__file__).parent / "golden"
FORMATS = tuple(sorted(path.stem for path in GOLDEN.glob("*.sql")))


def restored(name: str, folder: Path) -> Path:
    """The journal as its version left it."""
    path = folder / "journal.db"
    with closing(sqlite3.connect(path)) as journal:
        journal.executescript((GOLDEN / f"{name}.sql").read_text())
    return path


def expected(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text())


@pytest.mark.parametrize("name", FORMATS)
def test_a_golden_journal_leads_to_the_state_that_its_version_told(
    name: str, tmp_path: Path
) -> None:
    path = restored(name, tmp_path)
    with JournalStore(str(path)) as store:
        master = Master(store, GOLDEN_CLUSTER, Workplace(tmp_path, {}), lambda: 0)
    assert json.loads(json.dumps(told(master))) == expected(name)


@pytest.mark.parametrize("name", FORMATS)
def test_a_golden_journal_is_read_without_being_changed(name: str, tmp_path: Path) -> None:
    path = restored(name, tmp_path)
    before = path.read_bytes()
    with JournalReader(str(path)) as reader:
        assert sum(1 for _ in reader.records()) == reader.last_sequence() > 100
    assert path.read_bytes() == before
