"""Checkpoints: atomic, checksummed, versioned, independent of how many executors there were.

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
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motet.domain.errors import BadInput
from motet.runtime.options import EpochReport
from motet.runtime.rows import Rows

Array = NDArray[Any]

FORMAT_VERSION = 1
_KEPT = 2


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """Training after `epoch_count` epochs. `state`: all instances' state columns."""

    epoch_count: int
    model: Array
    state: Rows
    reports: tuple[EpochReport, ...] = ()


class CheckpointFolder:
    """The checkpoints of one job."""

    def __init__(self, path: Path, fingerprint: Mapping[str, Any]) -> None:
        """`fingerprint`: what must be equal to resume (application, data, seed)."""
        self._path = path
        self._fingerprint = dict(fingerprint)

    def write(self, checkpoint: Checkpoint) -> Path:
        """Add a checkpoint and drop all but the newest two."""
        final = self._path / f"epoch-{checkpoint.epoch_count:06d}"
        temporary = self._path / f".writing-{uuid.uuid4().hex}"
        temporary.mkdir(parents=True)
        arrays = {"model": checkpoint.model, "ids": checkpoint.state.ids}
        arrays |= {f"state/{name}": array for name, array in checkpoint.state.arrays()}
        with (temporary / "arrays.npz").open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
            _flush(file.fileno())
        manifest = {
            "format_version": FORMAT_VERSION,
            "fingerprint": self._fingerprint,
            "epoch_count": checkpoint.epoch_count,
            "sha256": _sha256(temporary / "arrays.npz"),
            "reports": [asdict(report) for report in checkpoint.reports],
        }
        with (temporary / "manifest.json").open("w") as text:
            json.dump(manifest, text)
            text.flush()
            _flush(text.fileno())
        _publish(temporary, final)
        self._drop_old()
        return final

    def clear(self) -> None:
        """Forget what an earlier run left here."""
        for folder in self._path.glob("epoch-*"):
            shutil.rmtree(folder)

    def latest(self) -> Checkpoint | None:
        """The newest checkpoint that is whole, or None.

        A damaged one is passed over for the one before it. Raises BadInput when checkpoints exist
        but none is whole, or when they belong to another job.
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

    def _read(self, folder: Path) -> Checkpoint:
        manifest = json.loads((folder / "manifest.json").read_text())
        if manifest["format_version"] != FORMAT_VERSION:
            raise ValueError(f"format version {manifest['format_version']}, not {FORMAT_VERSION}")
        self._check_fingerprint(folder, manifest["fingerprint"])
        if _sha256(folder / "arrays.npz") != manifest["sha256"]:
            raise ValueError("checksum of arrays.npz does not match")
        with np.load(folder / "arrays.npz", allow_pickle=False) as arrays:
            state = {
                name.removeprefix("state/"): arrays[name]
                for name in arrays.files
                if name.startswith("state/")
            }
            rows = Rows.from_arrays(arrays["ids"], state)
            model = arrays["model"]
        reports = tuple(_report(fields) for fields in manifest["reports"])
        return Checkpoint(int(manifest["epoch_count"]), model, rows, reports)

    def _check_fingerprint(self, folder: Path, found: Mapping[str, Any]) -> None:
        wanted = json.loads(json.dumps(self._fingerprint))
        differing = [key for key in wanted if found.get(key) != wanted[key]]
        if differing:
            key = differing[0]
            raise BadInput(
                f"{folder}: made by another job: {key} was {found.get(key)!r}, "
                f"now it is {wanted[key]!r}; choose another --out or the same settings"
            )

    def _drop_old(self) -> None:
        for folder in sorted(self._path.glob("epoch-*"))[:-_KEPT]:
            shutil.rmtree(folder, ignore_errors=True)
        for folder in self._path.glob(".writing-*"):
            shutil.rmtree(folder, ignore_errors=True)


def merged_state(parts: Sequence[Rows]) -> Rows:
    """All workers' state columns as one, ordered by instance id."""
    rows = Rows.concatenate(parts)
    return rows.take(np.argsort(rows.ids))


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
