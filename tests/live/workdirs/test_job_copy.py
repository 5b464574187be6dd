"""The copy of a snapshot: made once, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.live.workdirs import job_copy
from motet.live.workdirs.archive import write_archive
from motet.live.workdirs.job_copy import make_copy


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.py").write_text("one")
    with (tmp_path / "x.tar").open("w+b") as file:
        write_archive(folder, file)
    return tmp_path / "x.tar"


def test_the_next_attempt_finds_what_the_last_one_left(archive: Path, tmp_path: Path) -> None:
    copy = tmp_path / "workdirs" / "7"
    make_copy(archive, copy)
    (copy / "a.py").write_text("two")
    (copy / "result").write_text("three")
    archive.unlink()
    make_copy(archive, copy)
    assert {each.name: each.read_text() for each in copy.iterdir()} == {
        "a.py": "two",
        "result": "three",
    }


def test_a_copy_that_was_interrupted_is_made_anew(archive: Path, tmp_path: Path) -> None:
    place = tmp_path / "workdirs"
    (place / ".7-abc").mkdir(parents=True)
    (place / ".7-abc" / "a.py").write_text("o")
    make_copy(archive, place / "7")
    assert [each.name for each in place.iterdir()] == ["7"]
    assert (place / "7" / "a.py").read_text() == "one"


def test_a_copy_that_fails_leaves_nothing(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(job_copy.os, "sync", full)
    with pytest.raises(OSError, match="No space left"):
        make_copy(archive, tmp_path / "workdirs" / "7")
    assert [*(tmp_path / "workdirs").iterdir()] == []
