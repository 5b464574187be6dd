"""`--resume` that cannot work: said before any process starts, and the good run stays untouched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from marked_process import run_motet
from motet.runtime.controller.checkpoints.folder_lock import locked_folder

pytestmark = pytest.mark.cluster

RUN = ("lasso", "--data", "diabetes", "--machines", "1", "--epochs", "4", "--set", "tol=0")
CASES = {
    "other parameter": (("--set", "l1=0.5"), "l1 was 0.1, is now 0.5;"),
    "other seed": (("--seed", "7"), "seed was 0, is now 7;"),
    "other data": (("--data", "iris"), "the data differ from those of the run (442 instances"),
    "fewer epochs": (("--epochs", "2"), "already has 4 epochs"),
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "lasso"
    ended = run_motet("train", *RUN, "--set", "l1=0.1", "--out", folder, "-q")
    assert ended.code == 0, ended.err
    return folder


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("changes", "mentioned"), CASES.values(), ids=CASES)
def test_what_differs_is_said_before_anything_is_touched(
    changes: tuple[str, ...], mentioned: str, finished: Path
) -> None:
    before = contents(finished)
    setting = () if "--set" in changes else ("--set", "l1=0.1")

    ended = run_motet("train", *RUN, *setting, *changes, "--out", finished, "--resume")

    assert (ended.code, ended.out) == (2, "")
    assert mentioned in ended.err
    assert "starting" not in ended.err
    assert contents(finished) == before


def test_a_second_run_does_not_touch_the_first(finished: Path) -> None:
    before = contents(finished)

    ended = run_motet("train", *RUN, "--out", finished)

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("\n") == 1
    assert "--overwrite" in ended.err
    assert contents(finished) == before


@pytest.mark.soak
def test_a_run_that_has_all_its_epochs_says_that_nothing_is_left(finished: Path) -> None:
    ended = run_motet("train", *RUN, "--set", "l1=0.1", "--out", finished, "--resume")

    assert ended.code == 0
    assert "the checkpoint already has 4 epochs; raise --epochs" in ended.err


def test_a_folder_that_another_run_writes_to_is_refused(tmp_path: Path) -> None:
    with locked_folder(tmp_path):
        ended = run_motet("train", *RUN, "--out", tmp_path, "-q")
    assert ended.code == 2
    assert f"{tmp_path}: another run writes there (process {os.getpid()}); wait" in ended.err
    assert ended.left_running == {}
    assert contents(tmp_path) == {}


@pytest.mark.soak
def test_a_run_that_had_converged_says_that_nothing_is_left(tmp_path: Path) -> None:
    run = ("lasso", "--data", "diabetes", "--machines", "1", "--out", tmp_path)
    assert run_motet("train", *run).code == 0
    ended = run_motet("train", *run, "--resume")
    assert ended.code == 0
    (line,) = [each for each in ended.err.splitlines() if "nothing is left to train" in each]
    assert "training had converged after" in line
    assert line.endswith("set a smaller tol to train on"), "not broken at the width of a terminal"
