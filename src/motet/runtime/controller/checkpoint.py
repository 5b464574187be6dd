"""Checkpoints: atomic, checksummed, versioned, independent of the number of executors.

A checkpoint is what training needs besides the data set: the model, the state columns of all
instances and the number of finished epochs. It is written at an epoch's end, when no mini-batch is
under way: into a temporary folder, flushed to disk, then renamed.

    DIR/epoch-000010/manifest.json    format version, fingerprint of the job, sha256 of the arrays
    DIR/epoch-000010/arrays.npz       model, ids, state columns
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from motet.domain.arrays import Array
from motet.domain.errors import BadInput, JobFailed
from motet.runtime.core.reports import EpochReport
from motet.runtime.core.rows import Rows

FORMAT_VERSION = 1
_KEPT = 2
_MANIFEST, _ARRAYS, _STATE = "manifest.json", "arrays.npz", "state/"


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """Training after `epoch_count` epochs.

    `state`: all instances' state columns; `spent_s`: seconds of the run until it was written.
    """

    epoch_count: int
    model: Array
    state: Rows
    reports: tuple[EpochReport, ...] = ()
    spent_s: float = 0.0


class CheckpointFolder:
    """The checkpoints of one job."""

    def __init__(self, path: Path, fingerprint: Mapping[str, Any], spent_s: float = 0.0) -> None:
        """`fingerprint`: what must be equal to resume; `spent_s`: seconds of the run so far."""
        self._path = path
        self._began_s = time.perf_counter() - spent_s
        self._fingerprint = dict(fingerprint)

    def write(self, checkpoint: Checkpoint) -> Path:
        """Add a checkpoint and drop all but the newest two. Raises JobFailed: the disk is full."""
        try:
            return self._write(checkpoint)
        except OSError as error:
            raise JobFailed(
                f"{self._path}: cannot write a checkpoint ({error.strerror or error}); "
                "free some space and go on with --resume"
            ) from error

    def _write(self, checkpoint: Checkpoint) -> Path:
        final = self._path / f"epoch-{checkpoint.epoch_count:06d}"
        temporary = self._path / f".writing-{uuid.uuid4().hex}"
        temporary.mkdir(parents=True)
        _write_arrays(temporary / _ARRAYS, checkpoint)
        self._write_manifest(temporary, checkpoint)
        _publish(temporary, final)
        self._drop_old()
        return final

    def _write_manifest(self, folder: Path, checkpoint: Checkpoint) -> None:
        manifest = {
            "format_version": FORMAT_VERSION,
            "fingerprint": self._fingerprint,
            "epoch_count": checkpoint.epoch_count,
            "spent_s": time.perf_counter() - self._began_s,
            "sha256": _sha256(folder / _ARRAYS),
            "reports": [asdict(report) for report in checkpoint.reports],
        }
        with (folder / _MANIFEST).open("w") as file:
            json.dump(manifest, file)
            file.flush()
            _flush(file.fileno())

    def clear(self) -> None:
        """Remove the checkpoints of an earlier run."""
        for folder in self._path.glob("epoch-*"):
            shutil.rmtree(folder)

    def latest(self) -> Checkpoint | None:
        """The newest checkpoint that is whole, or None.

        A damaged one is skipped, and the one before it is read. Raises BadInput when checkpoints
        exist but none is whole, or when they belong to another job.
        """
        found = sorted(self._path.glob("epoch-*"), reverse=True)
        problems: list[str] = []
        for folder in found:
            try:
                return self._read(folder)
            except (OSError, ValueError, KeyError, EOFError) as error:
                problems.append(f"{folder}: {error}")
        if problems:
            raise BadInput(
                "no checkpoint is whole: " + "; ".join(problems) + "; start without --resume"
            )
        return None

    def to_resume(self, epochs: int) -> Checkpoint | None:
        """The newest whole checkpoint, for training up to `epochs`; None: there is none.

        Raises BadInput as `latest` does, and when it has more epochs than that.
        """
        found = self.latest()
        if found is not None and found.epoch_count > epochs:
            raise BadInput(
                f"{self._path}: the checkpoint already has {found.epoch_count} epochs, more than "
                f"epochs={epochs}; raise --epochs to train on, or choose another --out"
            )
        return found

    def _read(self, folder: Path) -> Checkpoint:
        manifest = json.loads((folder / _MANIFEST).read_text())
        if manifest["format_version"] != FORMAT_VERSION:
            raise ValueError(f"format version {manifest['format_version']}, not {FORMAT_VERSION}")
        self._check_fingerprint(folder, manifest["fingerprint"])
        if _sha256(folder / _ARRAYS) != manifest["sha256"]:
            raise ValueError("checksum of arrays.npz does not match")
        model, rows = _read_arrays(folder / _ARRAYS)
        reports = tuple(_report(fields) for fields in manifest["reports"])
        spent_s = float(manifest.get("spent_s", 0.0))
        return Checkpoint(int(manifest["epoch_count"]), model, rows, reports, spent_s)

    def _check_fingerprint(self, folder: Path, found: Mapping[str, Any]) -> None:
        wanted = json.loads(json.dumps(self._fingerprint))
        difference = _difference(found, wanted)
        if difference:
            raise BadInput(
                f"{folder}: made by another job: {difference}; "
                "choose another --out or the same settings and data"
            )

    def _drop_old(self) -> None:
        for folder in sorted(self._path.glob("epoch-*"))[:-_KEPT]:
            shutil.rmtree(folder, ignore_errors=True)
        for folder in self._path.glob(".writing-*"):
            shutil.rmtree(folder, ignore_errors=True)


def _difference(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """What differs between two fingerprints, in words; the cause, not its consequences."""
    for own in (("app",), ("parameters",), ("seed",)):
        changes = _changes(_flat(found, own), _flat(wanted, own))
        if changes:
            return changes
    if any(found.get(key) != wanted[key] for key in ("instances", "data")):
        return f"the data differ from those of the run ({_counts(found, wanted)})"
    return _changes(found, wanted)


def _flat(fingerprint: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """Some entries; nested ones are replaced by their own entries."""
    flat: dict[str, Any] = {}
    for key in keys:
        value = fingerprint.get(key)
        flat |= value if isinstance(value, Mapping) else {key: value}
    return flat


def _changes(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """`rank was 4, is now 8`, for everything that differs."""
    return ", ".join(
        f"{key} was {found.get(key)}, is now {value}"
        for key, value in wanted.items()
        if found.get(key) != value
    )


def _counts(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    then, now = found.get("instances"), wanted["instances"]
    return f"{then} instances then, {now} now" if then != now else f"{now} instances, other values"


def merged_state(parts: Sequence[Rows]) -> Rows:
    """All workers' state columns as one, ordered by instance id."""
    rows = Rows.concatenate(parts)
    return rows.take(np.argsort(rows.ids))


def _write_arrays(path: Path, checkpoint: Checkpoint) -> None:
    arrays = {"model": checkpoint.model, "ids": checkpoint.state.ids}
    arrays |= {_STATE + name: array for name, array in checkpoint.state.arrays()}
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
        _flush(file.fileno())


def _read_arrays(path: Path) -> tuple[Array, Rows]:
    """The model and the state columns."""
    with np.load(path, allow_pickle=False) as arrays:
        names = [name for name in arrays.files if name.startswith(_STATE)]
        state = {name.removeprefix(_STATE): arrays[name] for name in names}
        return arrays["model"], Rows.from_arrays(arrays["ids"], state)


def _report(fields: dict[str, Any]) -> EpochReport:
    return EpochReport(**{**fields, "batch_s": tuple(fields["batch_s"])})


def _publish(temporary: Path, final: Path) -> None:
    if final.exists():
        shutil.rmtree(final)
    temporary.rename(final)
    folder = os.open(final.parent, os.O_RDONLY)
    try:
        _flush(folder)
    finally:
        os.close(folder)


def _flush(descriptor: int) -> None:
    os.fsync(descriptor)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
