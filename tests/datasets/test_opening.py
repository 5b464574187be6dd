"""`check_dataset` refuses by name and header what `open_dataset` refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from motet.datasets.opening import check_dataset, open_dataset
from motet.domain.errors import BadInput

TABLE = "a,b,text\n1,2,big red dogs\n3,4,small red cats\n5,6,big blue birds\n7,8,small old dogs\n"


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ("t.csv", {"kind": "labelled", "target": "c"}),
        ("n.csv", {"kind": "labelled"}),
        ("t.csv", {"kind": "labelled", "target": "a", "drop": "a"}),
        ("t.csv", {"kind": "unlabelled", "drop": ["x"]}),
        ("t.csv", {"kind": "corpus", "target": "c"}),
        ("t.csv", {"kind": "ratings", "target": "a"}),
        ("t.csv", {"kind": "corpus", "format": "csv"}),
        ("t.csv", {"kind": "corpus", "format": "cvs"}),
        ("none.csv", {"kind": "labelled", "target": "a"}),
        ("digits", {"kind": "ratings"}),
        ("digits", {"kind": "labelled", "target": "a"}),
        ("digitz", {"kind": "labelled"}),
    ],
)
def test_the_error_is_that_of_reading(
    source: str, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(TABLE)
    Path("n.csv").write_text("a,b\n1,2\n")
    with pytest.raises(BadInput) as when_reading:
        open_dataset(source, **options)
    with pytest.raises(BadInput) as when_checking:
        check_dataset(source, **options)
    assert str(when_checking.value) == str(when_reading.value)


@pytest.mark.parametrize(
    "options",
    [
        {"kind": "labelled", "target": "a", "drop": "text"},
        {"kind": "unlabelled", "drop": ["text"]},
        {"kind": "corpus"},
        {"kind": "corpus", "target": "text"},
    ],
)
def test_what_can_be_read_passes(options: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    check_dataset(tmp_path / "t.csv", **options)
    open_dataset(tmp_path / "t.csv", **options)


def test_the_rows_of_a_table_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE + "7,wrong,x\n")
    check_dataset(tmp_path / "t.csv", kind="labelled", target="a", drop="text")


def test_arrays_that_hold_their_target_need_no_name_of_it(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=np.eye(3), y=np.arange(3))
    check_dataset(tmp_path / "a.npz", kind="labelled")
