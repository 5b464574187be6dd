"""The archives of a server: whole, as their names say, or not there."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.live.workdirs.archive import write_archive
from motet.live.workdirs.digest import archive_path
from motet.live.workdirs.store import SnapshotStore


@pytest.fixture
def data(tmp_path: Path) -> bytes:
    """An archive of one file."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.py").write_text("print()")
    with (tmp_path / "x.tar").open("w+b") as file:
        write_archive(folder, file)
    return (tmp_path / "x.tar").read_bytes()


@pytest.fixture
def store(tmp_path: Path) -> SnapshotStore:
    return SnapshotStore(tmp_path / "store")


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def put(store: SnapshotStore, data: bytes, name: str) -> None:
    with store.receive(name) as archive:
        for begin in range(0, len(data), 1000):
            archive.write(data[begin : begin + 1000])
        assert archive.keep() == len(data)


def kept(tmp_path: Path) -> list[str]:
    return [each.name for each in (tmp_path / "store").iterdir()]


def test_an_archive_is_kept_once(store: SnapshotStore, data: bytes, tmp_path: Path) -> None:
    name = digest(data)
    assert store.size(name) is None
    put(store, data, name)
    put(store, data, name)
    assert store.size(name) == len(data)
    assert store.names(name) == {"a.py"}
    assert kept(tmp_path) == [f"{name}.tar"]


def test_what_differs_from_its_name_or_is_no_archive_leaves_nothing(
    store: SnapshotStore, data: bytes, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match="its SHA-256 differs; send it again"):
        put(store, data, digest(b""))
    with pytest.raises(BadInput, match="no tar file"):
        put(store, b"not an archive", digest(b"not an archive"))
    with store.receive(digest(data)) as archive:
        archive.write(data)  # The client has gone.
    assert kept(tmp_path) == []


def test_a_job_without_the_archive_is_refused(store: SnapshotStore) -> None:
    assert store.names(False) is None
    for given in (True, "0" * 64):
        with pytest.raises(BadInput, match="snapshot: send the archive first"):
            store.names(given)


def test_archives_that_nobody_asks_for_can_be_forgotten(
    store: SnapshotStore, data: bytes, tmp_path: Path
) -> None:
    name, left = digest(data), tmp_path / "store" / ".receiving-abc"
    assert store.unused_since(time.time()) == set()
    put(store, data, name)
    left.touch()
    for path in (left, archive_path(tmp_path / "store", name)):
        os.utime(path, (1000, 1000))
    assert store.unused_since(2000) == {name, ".receiving-abc"}
    store.size(name)
    assert store.unused_since(2000) == {".receiving-abc"}
    store.forget({name, ".receiving-abc"})
    assert kept(tmp_path) == []
