"""The files of one checkpoint.

    epoch-000010/manifest.json   format version, fingerprint of the job, epochs, their reports
    epoch-000010/arrays.npz      model, ids, state columns
    epoch-000010/SHA256SUMS      digests of both, as `sha256sum --check SHA256SUMS` reads them

One within an epoch also has the number of its mini-batches that are done in manifest and name, as
in epoch-000010-batch-000003: versions of Motet that do not know these pass over it.

The digests are verified before a file is parsed. Version 1 had no SHA256SUMS; its manifest has the
digest of the arrays, and the manifest itself is protected by the checks of `checks` only.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, get_type_hints

import numpy as np

from motet.domain.arrays import Array
from motet.domain.bounded_reading.array_files import load_arrays
from motet.domain.bounded_reading.decompression import DecompressionLimit
from motet.runtime.controller.checkpoints.checkpoint import Checkpoint
from motet.runtime.core.reporting.reports import EpochReport, Help
from motet.runtime.core.rows import Rows

FORMAT_VERSION = 2
_WITHOUT_SUMS = 1
_MANIFEST, _ARRAYS, _SUMS, _STATE = "manifest.json", "arrays.npz", "SHA256SUMS", "state/"
_SUMS_TEXT = re.compile(rb"([0-9a-f]{64})  manifest\.json\n([0-9a-f]{64})  arrays\.npz\n")


class Damaged(ValueError):
    """A checkpoint that is not what was written; the message says which part."""


def write_files(
    folder: Path, checkpoint: Checkpoint, fingerprint: Mapping[str, Any], spent_s: float
) -> None:
    """Write the files of a checkpoint into an empty folder, flushed to disk. Raises OSError."""
    arrays = {"model": checkpoint.model, "ids": checkpoint.state.ids}
    arrays |= {_STATE + name: array for name, array in checkpoint.state.arrays()}
    manifest = {
        "format_version": FORMAT_VERSION,
        "fingerprint": fingerprint,
        "epoch_count": checkpoint.epoch_count,
        **({"batches": checkpoint.batches} if checkpoint.batches else {}),
        "spent_s": spent_s,
        "reports": [_written(report) for report in checkpoint.reports],
    }
    with (folder / _ARRAYS).open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
        _flush(file)
    _write(folder / _MANIFEST, json.dumps(manifest))
    _write(folder / _SUMS, "".join(f"{_sha256(folder / n)}  {n}\n" for n in (_MANIFEST, _ARRAYS)))
    flush_folder(folder)


def read_files(folder: Path) -> tuple[Mapping[str, Any], Checkpoint]:
    """The fingerprint of a checkpoint's job, and the checkpoint.

    Raises Damaged unless the files are exactly what was written, or OSError.
    """
    digests = _digests(folder)
    manifest = _manifest(folder / _MANIFEST, digests.get(_MANIFEST))
    fingerprint, epoch_count = manifest.get("fingerprint"), manifest.get("epoch_count")
    if not isinstance(fingerprint, dict) or type(epoch_count) is not int:
        raise Damaged(f"{_MANIFEST} is incomplete")
    _require_digest(folder / _ARRAYS, digests.get(_ARRAYS) or str(manifest.get("sha256")))
    model, state = _read_arrays(folder / _ARRAYS)
    spent_s, batches = _number(manifest.get("spent_s", 0.0)), _count(manifest.get("batches", 0))
    reports = _reports(manifest)
    return fingerprint, Checkpoint(epoch_count, model, state, reports, spent_s, batches)


def flush_folder(path: Path) -> None:
    """Make the names of files in a folder survive a power failure."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _digests(folder: Path) -> dict[str, str]:
    """By file name; of version 1, none."""
    path = folder / _SUMS
    if not os.path.lexists(path):
        return {}
    _require_file(path)
    match = _SUMS_TEXT.fullmatch(path.read_bytes())
    if match is None:
        raise Damaged(f"{_SUMS} does not hold the digests of {_MANIFEST} and {_ARRAYS}")
    return {_MANIFEST: match[1].decode(), _ARRAYS: match[2].decode()}


def _manifest(path: Path, digest: str | None) -> Mapping[str, Any]:
    if digest is None:
        _require_file(path)
    else:
        _require_digest(path, digest)
    try:
        manifest = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{_MANIFEST} is no JSON ({str(error)[:100]})") from error
    version = manifest.get("format_version") if isinstance(manifest, dict) else None
    if digest is None and version == FORMAT_VERSION:
        raise Damaged(f"{_SUMS} is missing")
    wanted = _WITHOUT_SUMS if digest is None else FORMAT_VERSION
    if version != wanted:
        raise Damaged(f"format version {str(version)[:20]}, not {FORMAT_VERSION}")
    return dict(manifest)


def _read_arrays(path: Path) -> tuple[Array, Rows]:
    """The model and the state columns."""
    try:
        with path.open("rb") as file:
            limit = DecompressionLimit.of(path, path.stat().st_size)
            arrays = load_arrays(file, limit)
            if not isinstance(arrays, dict):
                raise Damaged(f"{_ARRAYS} is one array, not an archive")
            names = [name for name in arrays if name.startswith(_STATE)]
            state = {name.removeprefix(_STATE): arrays[name] for name in names}
            return arrays["model"], Rows.from_arrays(arrays["ids"], state)
    except (Damaged, MemoryError):
        raise
    except Exception as error:  # NumPy and zipfile raise errors of many kinds for odd bytes.
        raise Damaged(f"{_ARRAYS} cannot be read ({error!r:.100})") from error


def _reports(manifest: Mapping[str, Any]) -> tuple[EpochReport, ...]:
    try:
        return tuple(_report(fields) for fields in manifest["reports"])
    except (KeyError, TypeError, AttributeError) as error:
        raise Damaged(f"{_MANIFEST} has no whole reports ({error!r:.100})") from error


def _written(report: EpochReport) -> dict[str, Any]:
    """The fields of a report as a manifest names them."""
    return {_NAMES_IN_FILES.get(name, name): value for name, value in asdict(report).items()}


def _report(values: Mapping[str, Any]) -> EpochReport:
    """A field without a value has its default: earlier versions did not have all fields."""
    if unknown := values.keys() - _READERS.keys():
        raise KeyError(min(unknown))
    return EpochReport(
        **{_FIELDS.get(name, name): _READERS[name](value) for name, value in values.items()}
    )


def _number(value: object) -> float:
    """Raises Damaged for other values; a metric may be infinite or not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Damaged(f"{_MANIFEST} has {value!r:.40} where a number belongs")
    try:
        return float(value)
    except OverflowError:
        raise Damaged(f"{_MANIFEST} has a number that is too large") from None


def _count(value: object) -> int:
    if type(value) is not int:
        raise Damaged(f"{_MANIFEST} has {value!r:.40} where a whole number belongs")
    return value


def _numbers_by_name(values: Mapping[str, Any]) -> dict[str, float]:
    return {str(name): _number(value) for name, value in values.items()}


def _numbers(values: Iterable[object]) -> tuple[float, ...]:
    return tuple(_number(value) for value in values)


def _help(values: Iterable[Mapping[str, Any]]) -> tuple[Help, ...]:
    return tuple(Help(**{name: _count(value) for name, value in each.items()}) for each in values)


_READER_OF_TYPE: Mapping[Any, Callable[[Any], Any]] = {
    int: _count,
    float: _number,
    Mapping[str, float]: _numbers_by_name,
    tuple[float, ...]: _numbers,
    tuple[Help, ...]: _help,
}
_NAMES_IN_FILES = {"epoch_index": "epoch"}
"""Fields of a report that have another name in manifests, which versions share."""
_FIELDS = {written: name for name, written in _NAMES_IN_FILES.items()}
_READERS = {
    _NAMES_IN_FILES.get(name, name): _READER_OF_TYPE[kind]
    for name, kind in get_type_hints(EpochReport).items()
}
"""What reads each field of a report, by its type; names as in manifests."""


def _require_digest(path: Path, digest: str) -> None:
    _require_file(path)
    if _sha256(path) != digest:
        raise Damaged(f"checksum of {path.name} does not match")


def _require_file(path: Path) -> None:
    """Only regular files are opened: a FIFO would block."""
    if not path.exists():
        raise Damaged(f"{path.name} is missing")
    if not path.is_file():
        raise Damaged(f"{path.name} is not a regular file")


def _write(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        _flush(file)


def _flush(file: IO[Any]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
