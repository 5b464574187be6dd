"""Which folder a run may write to, and which it may go on in."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.interfaces.cli.train.run_folder import choose_folder, starts_over


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    """A folder with a finished run."""
    checkpoint = tmp_path / "checkpoints" / "epoch-000040"
    checkpoint.mkdir(parents=True)
    for name in ("run.json", "model.npz", "log.txt"):
        (tmp_path / name).write_text("precious")
    return tmp_path


def assert_refused(out: Path, message: str, *, resume: bool = False) -> None:
    before = sorted(out.rglob("*"))
    with pytest.raises(BadInput, match=message):
        choose_folder(out, resume, overwrite=False)
    assert sorted(out.rglob("*")) == before


def test_a_folder_with_a_run_is_refused_and_the_ways_out_are_named(finished: Path) -> None:
    assert_refused(finished, r"holds a run already \(run.json, .*--resume .*--out, or --overwrite")


@pytest.mark.parametrize("left", ["run.json", "model.npz", "checkpoints/epoch-000001"])
def test_any_part_of_a_run_is_kept(left: str, tmp_path: Path) -> None:
    (tmp_path / left).mkdir(parents=True)

    assert_refused(tmp_path, left)


def test_a_new_folder_and_one_with_other_files_are_fine(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")

    for out in (tmp_path, tmp_path / "deep" / "new"):
        folder = choose_folder(out, resume=False, overwrite=False)
        assert folder is not None
        assert folder.path.is_dir()


def test_overwriting_removes_the_run_and_nothing_else(finished: Path) -> None:
    (finished / "notes.txt").write_text("mine")
    folder = choose_folder(finished, resume=False, overwrite=True)

    assert folder is not None
    assert (finished / "model.npz").exists()
    folder.clear()
    assert [path.name for path in finished.rglob("*")] == ["notes.txt"]


def test_resuming_where_no_run_is_is_refused_and_makes_no_folder(tmp_path: Path) -> None:
    mistyped = tmp_path / "msitpyed"

    assert_refused(tmp_path, "no checkpoint in .*check the folder's name", resume=True)
    assert_refused(mistyped, "no checkpoint in .*msitpyed", resume=True)
    assert not mistyped.exists()


def test_resuming_results_without_checkpoints_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.npz").write_text("precious")
    (tmp_path / "log.txt").write_text("")

    assert_refused(tmp_path, "only model.npz; give --overwrite", resume=True)


def test_a_run_killed_before_its_first_checkpoint_starts_over(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("")
    folder = choose_folder(tmp_path, resume=True, overwrite=False)

    assert folder is not None
    assert starts_over(folder, resume=True)


def test_a_run_interrupted_before_its_first_checkpoint_starts_over(tmp_path: Path) -> None:
    for name in ("log.txt", "run.json", "loss.csv"):
        (tmp_path / name).write_text("")
    assert choose_folder(tmp_path, resume=True, overwrite=False) is not None


def test_a_run_with_a_checkpoint_continues(finished: Path) -> None:
    assert not starts_over(choose_folder(finished, resume=True, overwrite=False), resume=True)


def test_the_flags_need_a_folder_and_exclude_each_other(tmp_path: Path) -> None:
    for resume, overwrite, message in (
        (True, False, "--resume needs --out"),
        (False, True, "--overwrite needs --out"),
    ):
        with pytest.raises(BadInput, match=message):
            choose_folder(None, resume, overwrite)
    with pytest.raises(BadInput, match="give one of them"):
        choose_folder(tmp_path, resume=True, overwrite=True)
