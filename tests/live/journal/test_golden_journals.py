"""Journals that released formats hold are read by this version, with nothing lost."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from golden_journal import GOLDEN_CLUSTER, told
from motet.allocation.fill import fill
from motet.domain.decision import Decision
from motet.domain.errors import BadInput
from motet.domain.policy import Policy
from motet.domain.snapshot import Snapshot
from motet.live.journal.divergence import log_notices
from motet.live.journal.reading import JournalReader
from motet.live.journal.store import JournalStore
from motet.live.master.intake import ChoosePolicy
from motet.live.master.master import Master
from motet.live.master.requests import Workplace
from motet.live.upkeep.backup import back_up
from motet.live.upkeep.restore import restore

GOLDEN = Path(__file__).parent / "golden"
FORMATS = tuple(sorted(path.stem for path in GOLDEN.glob("*.sql")))


def restored(name: str, folder: Path) -> Path:
    """The journal as its version left it."""
    path = folder / "journal.db"
    with closing(sqlite3.connect(path)) as journal:
        journal.executescript((GOLDEN / f"{name}.sql").read_text())
    return path


def assert_is_as_told(master: Master, name: str) -> None:
    """What has been executed is as recorded. A decided start that waits for the slots of others is
    in the records since format 3; before that, it is what this version decides."""
    found, wanted = json.loads(json.dumps(told(master))), expected(name)
    if name == "format-2":
        without_pending_starts(master, found, wanted)
        assert len(wanted["placements"]) > 1
    assert found == wanted


def without_pending_starts(master: Master, *each_told: Any) -> None:
    executed = {str(job) for job in master.state.active}
    for each in each_told:
        each["placements"] = {
            job: place for job, place in each["placements"].items() if job in executed
        }


def expected(name: str) -> Any:
    """Those versions kept the reason of an attempt that had ended when the next one began."""
    found = json.loads((GOLDEN / f"{name}.json").read_text())
    for job in found["jobs"].values():
        latest = job["attempts"][-1]["outcome"] if job["attempts"] else ""
        if job["ended_us"] is None and latest not in ("lost", "failed"):
            job["reason"] = ""
    return found


@pytest.mark.parametrize("name", FORMATS)
def test_a_golden_journal_leads_to_the_state_that_its_version_told(
    name: str, tmp_path: Path
) -> None:
    path = restored(name, tmp_path)
    with JournalStore(str(path)) as store:
        master = Master(store, GOLDEN_CLUSTER, Workplace(tmp_path, {}), lambda: 0)
    assert_is_as_told(master, name)


@pytest.mark.parametrize("name", FORMATS)
def test_a_golden_journal_is_read_without_being_changed(name: str, tmp_path: Path) -> None:
    path = restored(name, tmp_path)
    before = path.read_bytes()
    with JournalReader(str(path)) as reader:
        assert sum(1 for _ in reader.records()) == reader.last_sequence() > 100
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", FORMATS)
def test_a_golden_journal_does_not_depend_on_what_policies_decide_now(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The newest jobs first, as many as fit, is not what any of the recorded policies decided."""

    def newest_first(policy: Policy, snapshot: Snapshot) -> Decision:
        order = np.argsort(-snapshot.jobs.number)
        filled = fill(order, snapshot.jobs.gpus, snapshot.gpu_count, may_overtake=True)
        return Decision(filled.gpus, filled.reasons)

    monkeypatch.setattr("motet.engine.step.ask", newest_first)
    path = restored(name, tmp_path)
    with JournalStore(str(path)) as store:
        master = Master(store, GOLDEN_CLUSTER, Workplace(tmp_path, {}), lambda: 0)
        log_notices(store.copy_of_former, master.divergence)
    found, wanted = json.loads(json.dumps(told(master))), expected(name)
    # With a decision that gives slots to further jobs once others have left them, they are theirs.
    without_pending_starts(master, found, wanted)
    assert found == wanted
    assert len(wanted["placements"]) > 1
    notices = {
        "format-2": ["journal_migrated", "journal_decided_otherwise"],
        "format-3": ["journal_migrated"],
    }
    assert [each.message for each in caplog.records] == notices.get(name, [])
    assert (master.divergence is not None) == (name == "format-2")


def test_a_journal_of_an_earlier_format_is_copied_before_it_is_written(tmp_path: Path) -> None:
    path = restored("format-2", tmp_path)
    with closing(sqlite3.connect(path)) as journal:
        before = "\n".join(journal.iterdump())
    with JournalStore(str(path)) as store:
        copy = store.copy_of_former
        assert copy == tmp_path / "journal.db.format-2"
        Master(store, GOLDEN_CLUSTER, Workplace(tmp_path, {}), lambda: 2 * 10**15).handle(
            [ChoosePolicy("fifo")]
        )
    with closing(sqlite3.connect(copy)) as journal:
        assert "\n".join(journal.iterdump()) == before
    assert copy.stat().st_mode & 0o777 == 0o600
    with JournalStore(str(path)) as store:
        assert store.copy_of_former is None
        *_, last = store.records()
        assert last.decision not in (None, "null")


def test_a_journal_that_cannot_be_copied_stays_as_it_is(tmp_path: Path) -> None:
    path = restored("format-2", tmp_path)
    before = path.read_bytes()
    (tmp_path / "journal.db.format-2").mkdir()
    with pytest.raises(BadInput, match=r"journal\.db\.format-2: the copy of the journal before"):
        JournalStore(str(path))
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", FORMATS)
def test_a_golden_journal_is_backed_up_and_restored(name: str, tmp_path: Path) -> None:
    path, backup, folder = restored(name, tmp_path), tmp_path / "backup.db", tmp_path / "state"
    count = back_up(path, backup)
    folder.mkdir(mode=0o700)
    assert restore(backup, folder).jobs == len(expected(name)["jobs"])
    with JournalStore(str(folder / "journal.db")) as store:
        assert store.next_sequence == count + 1
        master = Master(store, GOLDEN_CLUSTER, Workplace(folder, {}), lambda: 0)
    assert_is_as_told(master, name)
