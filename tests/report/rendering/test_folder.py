"""Files of a folder are complete or absent."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from motet.domain.errors import BadInput, JobFailed
from motet.report.rendering.folder import Folder
from motet.report.training.folder import RunFolder


def test_a_folder_is_created_with_its_parents(tmp_path: Path) -> None:
    Folder(tmp_path / "a" / "b").write_json("c.json", {"d": 1})

    assert (tmp_path / "a" / "b" / "c.json").read_text() == '{\n  "d": 1\n}\n'


def test_a_path_that_cannot_be_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(BadInput, match="cannot write there"):
        Folder(tmp_path / "file")


@pytest.mark.parametrize(
    ("error", "raised"), [(OSError("full"), JobFailed), (KeyError(), KeyError)]
)
def test_a_failed_write_leaves_the_earlier_file(
    tmp_path: Path, error: Exception, raised: type[Exception]
) -> None:
    folder = Folder(tmp_path)
    folder.write_text("a.txt", "complete")

    def fail(path: Path) -> None:
        path.write_text("half")
        raise error

    with pytest.raises(raised):
        folder.write("a.txt", fail)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.txt": "complete"}


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EDQUOT, "free some space"),
        (errno.EACCES, "make it writable"),
        (errno.EROFS, "make it writable"),
        (errno.EIO, "remove the cause"),
    ],
    ids=lambda value: errno.errorcode[value] if isinstance(value, int) else "",
)
@pytest.mark.parametrize(
    ("kind", "then"), [(Folder, "run again"), (RunFolder, "go on with --resume")]
)
def test_the_remedy_of_a_failed_write_is_that_of_its_error(
    tmp_path: Path, number: int, remedy: str, kind: type[Folder], then: str
) -> None:
    def fail(path: Path) -> None:
        raise OSError(number, os.strerror(number))

    with pytest.raises(JobFailed) as raised:
        kind(tmp_path).write("a.txt", fail)
    reason = os.strerror(number)
    assert str(raised.value) == (
        f"{tmp_path / 'a.txt'}: cannot be written ({reason}); {remedy} and {then}"
    )


def test_the_temporary_name_keeps_the_suffix(tmp_path: Path) -> None:
    """NumPy appends `.npz` to other names."""
    names: list[str] = []
    Folder(tmp_path).write("model.npz", lambda path: (names.append(path.name), path.touch()))

    assert names[0].endswith("model.npz")
    assert (tmp_path / "model.npz").exists()
