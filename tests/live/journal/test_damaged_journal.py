"""A damaged journal: the server continues from it, or says in one line that it cannot."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from random import Random

import pytest

from motet.domain.errors import MotetError
from motet.live.jobs.job_file import job_spec
from motet.live.journal.store import JournalDamaged, JournalStore
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import Change
from motet.live.master.master import Master
from motet.live.master.requests import Workplace
from motet.live.master.submissions.submission import Submit

CLUSTER = ClusterDeclared(("m0",), (2,))
SCRAPS = (b"9", b'"', b"x", b"}", b"-1", b"\xff", b"null", b"[" * 50, b"1e999", b"")
EXAMPLES = pytest.mark.parametrize(
    "seeds", [range(100), pytest.param(range(100, 5000), marks=pytest.mark.soak)], ids=str
)


def replayed(path: Path) -> Master:
    with JournalStore(str(path)) as store:
        return Master(store, CLUSTER, Workplace(path.parent, {}), lambda: 10**15)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "journal.db"
    spec = job_spec({"name": "job", "run": "sleep 1", "workdir": "/", "envs": {"A": "é"}})
    with JournalStore(str(path)) as store:
        master = Master(store, CLUSTER, Workplace(path.parent, {}), lambda: 10**15)
        for _ in range(4):
            master.handle([Submit(spec, "me", "key")])
            master.handle([Submit(spec, "me")])
        master.handle([Change(1, "cancel", "me"), Change(2, "suspend", "me")])
    assert len(replayed(path).state.jobs) == 5
    return path.read_bytes()


def damaged(content: bytes, random: Random) -> bytes:
    place = random.randrange(len(content))
    match random.randrange(4):
        case 0:
            changed = bytearray(content)
            for _ in range(random.choice((1, 10, 300))):
                changed[random.randrange(len(content))] ^= 1 << random.randrange(8)
            return bytes(changed)
        case 1:
            return content[:place]
        case 2:
            length = random.choice((1, 100, 5000))
            return content[:place] + bytes(length) + content[place + length :]
    names = (b"JobAccepted", b"Submitted", b"Start", b"ClusterDeclared", b"JobChanged")
    start = content.find(random.choice(names)) + random.randrange(-50, 300)
    return content[:start] + random.choice(SCRAPS) + content[start + random.choice((1, 3)) :]


@EXAMPLES
def test_damage_is_no_traceback(tmp_path: Path, whole: bytes, seeds: range) -> None:
    path = tmp_path / "journal.db"
    for seed in seeds:
        path.write_bytes(damaged(whole, Random(seed)))
        try:
            with suppress(MotetError):
                replayed(path)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r}") from error
        for left in tmp_path.glob("journal.db-*"):
            left.unlink()


@pytest.mark.parametrize("content", [b"no database" * 500, bytes(4096)])
def test_the_message_says_what_to_do(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "journal.db"
    path.write_bytes(content)
    with pytest.raises(JournalDamaged, match="restore a copy of the journal, or start") as caught:
        replayed(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 500
    assert "sqlalche" not in str(caught.value)


@pytest.mark.parametrize(
    ("version", "told"), [("x", "its format is no number"), (-124, "its format is -124")]
)
def test_a_refused_journal_is_left_closed(
    tmp_path: Path, whole: bytes, version: object, told: str
) -> None:
    path = tmp_path / "journal.db"
    path.write_bytes(whole)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE journal SET format_version = ?", (version,))
        connection.commit()
    with pytest.raises(MotetError, match=told) as caught:
        JournalStore(str(path))
    files = [os.readlink(each) for each in Path("/proc/self/fd").iterdir() if each.exists()]
    assert not [each for each in files if each.startswith(str(path))], caught.value
