"""Checkpoints on disk: what is read back, what is kept, and what is refused."""

from __future__ import annotations

import shutil
import subprocess
import weakref
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest

from checkpoint_damage import DAMAGES, Damage, flipped
from motet.domain.errors import BadInput, JobFailed
from motet.runtime.controller.checkpoints.checkpoint import Checkpoint, merged_state
from motet.runtime.controller.checkpoints.folder import CheckpointFolder
from motet.runtime.controller.checkpoints.identity import JobIdentity, state_digest
from motet.runtime.core.application import ModelTable
from motet.runtime.core.reporting.reports import EpochReport, Help
from motet.runtime.core.rows import Ragged, Rows

FINGERPRINT = {"app": "toy", "parameters": {"rank": "4"}, "seed": 0, "instances": 3, "data": "d"}


def report(epoch: int) -> EpochReport:
    return EpochReport(
        *(epoch, 0.5 / (epoch + 1), {"mse": 0.25}, 1.0, 0.5, 0.25, 0.125, 10, 20, 3, (0.5, 0.5)),
        help=(Help(0, 1, batches=2, instances=epoch),),
    )


def checkpoint(epoch_count: int) -> Checkpoint:
    columns = {"x": np.eye(3), "z": Ragged(np.array([0, 1, 3, 3]), np.array([7, 8, 9]))}
    return Checkpoint(
        epoch_count,
        np.full((4, 2), epoch_count, dtype=np.float32),
        Rows(np.array([0, 1, 2]), columns),
        tuple(report(epoch) for epoch in range(epoch_count)),
    )


def folder(path: Path, ids: list[int] | None = None, **changes: Any) -> CheckpointFolder:
    state = checkpoint(0).state if ids is None else replace(checkpoint(0).state, ids=np.array(ids))
    model = ModelTable(4, (2,), np.dtype(np.float32))
    return CheckpointFolder(path, JobIdentity({**FINGERPRINT, **changes}, model, lambda: state))


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    written = checkpoint(3)
    assert folder(tmp_path).write(written) == tmp_path / "epoch-000003"
    read = folder(tmp_path).latest()
    assert read is not None
    assert (read.epoch_count, read.reports) == (3, written.reports)
    assert (read.model.dtype, read.model.tolist()) == (np.float32, written.model.tolist())
    assert read.state.ids.tolist() == [0, 1, 2]
    assert [(name, array.tolist()) for name, array in read.state.arrays()] == [
        (name, array.tolist()) for name, array in written.state.arrays()
    ]


def test_every_field_of_a_report_is_read_back_with_its_type(tmp_path: Path) -> None:
    kinds: dict[object, object] = {
        int: 7,
        float: 0.5,
        Mapping[str, float]: {"accuracy": 1.0},
        tuple[float, ...]: (0.25, 2.0),
        tuple[Help, ...]: (Help(1, 2, 3, 4),),
    }
    values: dict[str, Any] = {
        name: kinds[kind] for name, kind in get_type_hints(EpochReport).items()
    }
    whole = EpochReport(**{**values, "epoch_index": 0})
    folder(tmp_path).write(replace(checkpoint(1), reports=(whole,)))
    found = folder(tmp_path).latest()
    assert found is not None
    assert found.reports == (whole,)
    assert [type(getattr(found.reports[0], name)) for name in values] == [
        type(getattr(whole, name)) for name in values
    ]


def test_the_newest_two_are_kept(tmp_path: Path) -> None:
    for epoch_count in (1, 9, 10, 100):
        folder(tmp_path).write(checkpoint(epoch_count))
    assert sorted(it.name for it in tmp_path.iterdir()) == ["epoch-000010", "epoch-000100"]


def test_a_checkpoint_of_the_same_epoch_is_replaced(tmp_path: Path) -> None:
    folder(tmp_path).write(checkpoint(2))
    (tmp_path / "epoch-000002" / "left over").touch()
    folder(tmp_path).write(checkpoint(2))
    names = {it.name for it in (tmp_path / "epoch-000002").iterdir()}
    assert names == {"manifest.json", "arrays.npz", "SHA256SUMS"}


def test_what_a_killed_process_had_begun_to_write_is_no_checkpoint(tmp_path: Path) -> None:
    (tmp_path / ".writing-1234").mkdir(parents=True)
    (tmp_path / ".writing-1234" / "arrays.npz").touch()
    assert folder(tmp_path).latest() is None
    folder(tmp_path).write(checkpoint(1))
    assert [it.name for it in tmp_path.iterdir()] == ["epoch-000001"]


def test_the_digests_are_those_of_sha256sum(tmp_path: Path) -> None:
    written = folder(tmp_path).write(checkpoint(1))
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=written, check=True)


def test_a_cleared_folder_has_none(tmp_path: Path) -> None:
    folder(tmp_path).write(checkpoint(1))
    (tmp_path / "model.npz").touch()
    folder(tmp_path).clear()
    assert folder(tmp_path).latest() is None
    assert [it.name for it in tmp_path.iterdir()] == ["model.npz"]


DAMAGE = pytest.mark.parametrize(("damage", "problem"), [(d.do, d.problem) for d in DAMAGES])


@DAMAGE
def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(
    tmp_path: Path, damage: Damage, problem: str
) -> None:
    for epoch_count in (1, 2):
        folder(tmp_path).write(checkpoint(epoch_count))
    damage(tmp_path / "epoch-000002")
    lines: list[str] = []
    found = folder(tmp_path).latest(lines.append)
    assert found is not None
    assert found.epoch_count == 1
    (line,) = lines
    assert line.startswith("damaged checkpoint epoch-000002: ")
    assert problem in line
    assert line.endswith("; passed over, epoch-000001 is used")


@DAMAGE
def test_without_a_whole_checkpoint_the_error_names_the_problem_and_the_remedy(
    tmp_path: Path, damage: Damage, problem: str
) -> None:
    folder(tmp_path).write(checkpoint(1))
    damage(tmp_path / "epoch-000001")
    with pytest.raises(BadInput) as raised:
        folder(tmp_path).latest()
    message = str(raised.value)
    assert f"{tmp_path}: no checkpoint is whole: epoch-000001: " in message
    assert problem in message
    assert message.endswith("; give --overwrite instead of --resume to train from the beginning")


@pytest.mark.soak
def test_every_byte_of_a_manifest_and_of_its_digests_is_protected(tmp_path: Path) -> None:
    for epoch_count in (1, 2):
        folder(tmp_path).write(checkpoint(epoch_count))
    for name in ("manifest.json", "SHA256SUMS"):
        path = tmp_path / "epoch-000002" / name
        content = path.read_bytes()
        for byte in range(len(content)):
            path.write_bytes(flipped(content, 8 * byte + byte % 8))
            found = folder(tmp_path).latest()
            assert found is not None
            assert found.epoch_count == 1
        path.write_bytes(content)
    newest = folder(tmp_path).latest()
    assert newest is not None
    assert newest.epoch_count == 2


def test_flipped_bits_of_the_arrays_are_noticed(tmp_path: Path) -> None:
    for epoch_count in (1, 2):
        folder(tmp_path).write(checkpoint(epoch_count))
    path = tmp_path / "epoch-000002" / "arrays.npz"
    content = path.read_bytes()
    for bit in np.random.default_rng(0).integers(8 * len(content), size=300).tolist():
        path.write_bytes(flipped(content, bit))
        found = folder(tmp_path).latest()
        assert found is not None
        assert found.epoch_count == 1


def test_a_flipped_bit_in_a_manifest_of_the_first_version_gives_no_wrong_state(
    tmp_path: Path,
) -> None:
    """The manifest has no digest of its own there: its content is compared with job and folder."""
    copied = tmp_path / "epoch-000002"
    shutil.copytree(Path(__file__).parent / "data" / "checkpoint_v1", copied)
    whole = folder(tmp_path, ids=[2, 0, 1]).latest()
    assert whole is not None
    content = (copied / "manifest.json").read_bytes()
    for bit in range(0, 8 * len(content), 5):
        (copied / "manifest.json").write_bytes(flipped(content, bit))
        try:
            found = folder(tmp_path, ids=[2, 0, 1]).latest()
        except BadInput:
            continue
        assert found is not None
        assert found.epoch_count == whole.epoch_count
        assert state_digest(found) == state_digest(whole)


def test_more_than_a_million_epochs_are_ordered_by_number(tmp_path: Path) -> None:
    (tmp_path / "epoch-999999").mkdir()
    (tmp_path / "epoch-1000000").mkdir()
    with pytest.raises(BadInput, match=r"whole: epoch-1000000: .*; epoch-999999: "):
        folder(tmp_path).latest()


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"app": "other"}, "app was toy, is now other"),
        ({"parameters": {"rank": "8"}}, "rank was 4, is now 8"),
        ({"seed": 1}, "seed was 0, is now 1"),
        ({"seed": 1, "data": "e"}, "seed was 0, is now 1"),
        ({"instances": 4}, r"the data differ from those of the run \(3 instances then, 4 now\)"),
        ({"data": "e"}, r"the data differ from those of the run \(3 instances, other values\)"),
        ({"batches": 7}, "batches was None, is now 7"),
    ],
)
def test_a_checkpoint_of_another_job_is_refused_with_the_difference(
    tmp_path: Path, changes: dict[str, Any], difference: str
) -> None:
    folder(tmp_path).write(checkpoint(1))
    with pytest.raises(BadInput, match=f"made by another job: {difference}; choose another --out"):
        folder(tmp_path, **changes).latest()


def test_a_checkpoint_with_more_epochs_than_asked_for_is_not_resumed(tmp_path: Path) -> None:
    folder(tmp_path).write(checkpoint(3))
    assert folder(tmp_path).to_resume(epochs=3) is not None
    with pytest.raises(BadInput, match="already has 3 epochs, more than epochs=2; raise --epochs"):
        folder(tmp_path).to_resume(epochs=2)


def test_a_folder_that_cannot_be_written_fails_the_job_with_the_cause(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(JobFailed, match=r"checkpoint \(Not a directory\); remove the cause and"):
        folder(tmp_path / "file").write(checkpoint(1))


def test_a_checkpoint_of_the_first_version_is_read(tmp_path: Path) -> None:
    """`data/checkpoint_v1` was written by Motet 0.1.0: keep it readable, or raise the version."""
    shutil.copytree(Path(__file__).parent / "data" / "checkpoint_v1", tmp_path / "epoch-000002")
    read = folder(tmp_path, ids=[2, 0, 1]).latest()
    assert read is not None
    written = checkpoint(2)
    reports = tuple(replace(report, help=()) for report in written.reports)
    assert (read.epoch_count, read.spent_s, read.reports) == (2, 12.5, reports)
    assert read.model.tobytes() == written.model.tobytes()
    assert read.state.ragged("z").values.tolist() == [7, 8, 9]


def test_state_of_all_workers_is_merged_by_id() -> None:
    parts = [
        Rows(np.array([5, 1]), {"z": np.array([50, 10])}),
        Rows(np.array([3]), {"z": np.array([30])}),
    ]
    merged = merged_state(parts)
    assert (merged.ids.tolist(), merged["z"].tolist()) == ([1, 3, 5], [10, 30, 50])


def test_a_written_checkpoint_needs_no_memory(tmp_path: Path) -> None:
    checkpoints, written = folder(tmp_path), checkpoint(3)
    assert checkpoints.without_memory(written) is written
    checkpoints.write(written)
    kept = checkpoints.without_memory(written)
    model = weakref.ref(written.model)
    del written
    assert model() is None
    assert (kept.epoch_count, len(kept.reports)) == (3, 3)
    assert kept.read().model.tolist() == checkpoint(3).model.tolist()


def test_a_checkpoint_that_is_damaged_later_is_replaced_by_the_one_before(tmp_path: Path) -> None:
    checkpoints = folder(tmp_path)
    for epoch_count in (1, 2):
        checkpoints.write(checkpoint(epoch_count))
    kept = checkpoints.without_memory(checkpoint(2))
    shutil.rmtree(tmp_path / "epoch-000002")
    assert kept.read().epoch_count == 1
    shutil.rmtree(tmp_path / "epoch-000001")
    with pytest.raises(BadInput, match="the checkpoints were removed"):
        kept.read()
