"""A folder of checkpoints that cannot be written to, before and during training."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from marked_process import MarkedProcess, motet_process, run_motet
from small_disk import SmallDisk, read_only, small_disk
from trained_here import trained_here

pytestmark = pytest.mark.cluster

EPOCHS = 40
MORE_EPOCHS = 3
DATA = "synthetic-corpus:documents=700"
# A checkpoint has 360 kB; two are kept while a third is written.
LDA = (
    *("lda", "--data", DATA, "--set", "topics=4", "--set", "tol=0", "--machines", "2"),
    *("--checkpoint-every", "1", "-v", "--json", "--epochs"),
)
ENOUGH_KB = 100_000


@functools.cache
def undisturbed(epochs: int) -> str:
    return trained_here("lda", DATA, epochs, roles=(1, 1), topics=4, tol=0).model_sha256


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", ENOUGH_KB) as made:
        yield made


def training(folder: Path) -> MarkedProcess:
    """An endless run that has written a few checkpoints."""
    running = motet_process("train", *LDA, "1000000", "--out", folder)
    assert running.process.stderr is not None
    for line in running.process.stderr:
        if line.startswith("epoch 4/"):
            return running
    raise AssertionError("it ended before the fourth epoch")


def error_of(running: MarkedProcess) -> str:
    """The only line of error with which the run ends."""
    out, err = running.process.communicate(timeout=200)
    errors = [line for line in err.splitlines() if "error" in line]
    assert (running.process.returncode, out, len(errors)) == (1, "", 1), err
    assert running.descendants() == {}
    return errors[0]


def assert_goes_on(folder: Path) -> None:
    """A resumed run has the model of an undisturbed one."""
    names = [path.name for path in (folder / "checkpoints").glob("epoch-*")]
    epochs = int(max(names).removeprefix("epoch-")) + MORE_EPOCHS
    assert resumed_model(folder, epochs) == undisturbed(epochs)


def resumed_model(folder: Path, epochs: int) -> str:
    ended = run_motet("train", *LDA, str(epochs), "--out", folder, "--resume")
    assert (ended.code, ended.left_running) == (0, {}), ended.err
    assert "damaged" not in ended.err
    assert all(path.name.startswith("epoch-") for path in (folder / "checkpoints").iterdir())
    return str(json.loads(ended.out)["model_sha256"])


def assert_only_whole_checkpoints(folder: Path) -> None:
    """Where nothing can be removed, an older one, a lock and `.writing-` may be left."""
    names = [path.name for path in (folder / "checkpoints").iterdir()]
    kept = [name for name in names if not name.startswith((".writing-", ".motet-lock"))]
    assert 2 <= len(kept) <= 3
    assert all(name.startswith("epoch-") for name in kept)


def test_a_read_only_folder_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with read_only(tmp_path):
        ended = run_motet("train", *LDA, str(EPOCHS), "--out", tmp_path / "run")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert f"--out {tmp_path / 'run'}: cannot write there (Read-only file system)" in ended.err
    assert "name a folder that you may write to" in ended.err
    assert ended.left_running == {}


@pytest.mark.soak
def test_a_folder_that_becomes_read_only_ends_the_run_which_can_be_resumed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    running = training(folder)
    with read_only(folder / "checkpoints"):
        error = error_of(running)
    assert error == (
        f"motet: error: {folder / 'checkpoints'}: cannot write a checkpoint (Read-only file "
        "system); make it writable and go on with --resume"
    )
    assert_only_whole_checkpoints(folder)
    assert_goes_on(folder)


@pytest.mark.soak
def test_a_disk_that_becomes_full_ends_the_run_which_can_be_resumed(disk: SmallDisk) -> None:
    folder = disk.path / "run"
    running = training(folder)
    disk.fill()
    error = error_of(running)
    assert f"{folder}" in error
    assert "No space left on device" in error
    assert "free some space and go on with --resume" in error
    assert_only_whole_checkpoints(folder)
    disk.enlarge(2 * ENOUGH_KB)
    assert_goes_on(folder)


@pytest.mark.soak
@pytest.mark.parametrize("size_kb", range(20, 1500, 300))
def test_no_size_of_a_disk_leaves_a_checkpoint_that_is_not_whole(
    tmp_path: Path, size_kb: int
) -> None:
    with small_disk(tmp_path / "disk", size_kb) as disk:
        folder = disk.path / "run"
        ended = run_motet("train", *LDA, str(EPOCHS), "--out", folder)
        assert "Traceback" not in ended.err
        assert "unexpected" not in ended.err
        assert ended.left_running == {}
        if ended.code == 0:
            model = json.loads(ended.out)["model_sha256"]
        else:
            assert ended.code in (1, 2)
            assert ended.err.splitlines()[-1].startswith(f"motet: error: {disk.path}"), ended.err
            disk.enlarge(ENOUGH_KB)
            model = resumed_model(folder, EPOCHS)
    assert model == undisturbed(EPOCHS)
