"""Files of a folder are complete or absent."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.domain.errors import BadInput, JobFailed
from motet.report.rendering.folder import Folder


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


def test_the_temporary_name_keeps_the_suffix(tmp_path: Path) -> None:
    """NumPy appends `.npz` to other names."""
    names: list[str] = []
    Folder(tmp_path).write("model.npz", lambda path: (names.append(path.name), path.touch()))

    assert names[0].endswith("model.npz")
    assert (tmp_path / "model.npz").exists()
