"""Curves of a training from its `loss.csv`."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.interfaces.server.web.training_curves import training_curves

HEAD = "epoch,loss,rmse,wall_s,comp_s,comm_s,wait_s,bytes_pulled,bytes_pushed,instances_per_s"


def written(folder: Path, *rows: str) -> Path:
    (folder / "loss.csv").write_text("\n".join([HEAD, *rows]) + "\n")
    return folder


def row(epoch: int, loss: str = "0.5", comp_s: float = 2.0) -> str:
    return f"{epoch},{loss},1,3,{comp_s},0.5,0.25,10,10,100"


def test_curves_are_those_of_the_file(tmp_path: Path) -> None:
    found = training_curves(written(tmp_path, row(1, "0.75", 4.0), row(2)))
    assert found is not None
    assert (found.epochs, found.losses) == ([1, 2], [0.75, 0.5])
    assert found.times == ([4.0, 2.0], [0.5, 0.5], [0.25, 0.25])
    assert found.latest == "computation 3 s, communication 0.5 s, waiting 0.25 s"


def test_long_curves_are_thinned_out(tmp_path: Path) -> None:
    found = training_curves(written(tmp_path, *map(row, range(1, 9001))))
    assert found is not None
    assert found.epochs == [*range(1, 9001, 5)]
    assert {len(each) for each in (found.losses, *found.times)} == {1800}


def test_losses_that_are_no_numbers_are_left_out(tmp_path: Path) -> None:
    found = training_curves(written(tmp_path, row(1), row(2, "nan"), row(3, "inf")))
    assert found is not None
    assert found.epochs == [1]


@pytest.mark.parametrize("rows", [[], ["1,0.5"], ["x,0.5,1,3,2,1,1,1,1,1"], [row(1, "nan")]])
def test_without_epochs_there_are_no_curves(tmp_path: Path, rows: list[str]) -> None:
    assert training_curves(tmp_path) is None
    assert training_curves(written(tmp_path, *rows)) is None
