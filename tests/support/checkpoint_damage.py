"""Damages of a checkpoint's folder, and what is said about each."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

Damage: TypeAlias = Callable[[Path], None]
FILES = ("manifest.json", "arrays.npz", "SHA256SUMS")


class NamedDamage(NamedTuple):
    """`problem`: a part of the message."""

    do: Damage
    problem: str


def flipped(content: bytes, bit: int) -> bytes:
    """The bytes with one bit changed."""
    data = bytearray(content)
    data[bit // 8] ^= 1 << bit % 8
    return bytes(data)


def reseal(folder: Path) -> None:
    """Write digests that fit: only the content is wrong."""
    digests = {n: hashlib.sha256((folder / n).read_bytes()).hexdigest() for n in FILES[:2]}
    text = "".join(f"{digest}  {name}\n" for name, digest in digests.items())
    (folder / "SHA256SUMS").write_text(text)


def changed_manifest(**changes: Any) -> Damage:
    """Other fields in a manifest with a valid digest; None removes a field."""

    def damage(folder: Path) -> None:
        fields = json.loads((folder / "manifest.json").read_text())
        fields = {k: v for k, v in {**fields, **changes}.items() if v is not None}
        (folder / "manifest.json").write_text(json.dumps(fields))
        reseal(folder)

    return damage


def changed_report(**changes: Any) -> Damage:
    """Other fields in the first report."""

    def damage(folder: Path) -> None:
        fields = json.loads((folder / "manifest.json").read_text())
        fields["reports"][0] |= changes
        (folder / "manifest.json").write_text(json.dumps(fields))
        reseal(folder)

    return damage


def changed_arrays(change: Callable[[dict[str, Any]], None]) -> Damage:
    """Other arrays with a valid digest."""

    def damage(folder: Path) -> None:
        with np.load(folder / "arrays.npz") as file:
            arrays = dict(file)
        change(arrays)
        np.savez(folder / "arrays.npz", allow_pickle=True, **arrays)
        reseal(folder)

    return damage


def written(name: str, content: bytes, *, is_sealed: bool = False) -> Damage:
    """Another content of a file."""

    def damage(folder: Path) -> None:
        (folder / name).write_bytes(content)
        if is_sealed:
            reseal(folder)

    return damage


def removed(name: str) -> Damage:
    return lambda folder: (folder / name).unlink()


def truncated(name: str, by: int) -> Damage:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:-by])


def extended(name: str) -> Damage:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes() + b"\n")


def replaced(name: str, make: Callable[[Path], None]) -> Damage:
    """Something else than a file under that name."""

    def damage(folder: Path) -> None:
        (folder / name).unlink()
        make(folder / name)

    return damage


def swapped(folder: Path) -> None:
    """Manifest and arrays exchanged."""
    first, second = folder / "manifest.json", folder / "arrays.npz"
    first.rename(folder / "other")
    second.rename(first)
    (folder / "other").rename(second)


def taken_from_before(folder: Path) -> None:
    """All files of an older checkpoint under the newer name, where there is an older one."""
    older = sorted(folder.parent.glob("epoch-*"))[0]
    if older == folder:
        folder.rename(folder.parent / "aside")
        shutil.copytree(folder.parent / "aside", folder)
        shutil.rmtree(folder.parent / "aside")
        changed_manifest(epoch_count=7)(folder)
        return
    shutil.rmtree(folder)
    shutil.copytree(older, folder)


def not_a_folder(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("a file")


def emptied(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def _set(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda arrays: arrays.__setitem__(name, value)


def _with(name: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], None]:
    return lambda arrays: arrays.__setitem__(name, change(arrays[name]))


def _without(name: str) -> Callable[[dict[str, Any]], None]:
    return lambda arrays: arrays.pop(name)


def _nan_first(array: Any) -> Any:
    array = array.copy()
    array.flat[0] = np.nan
    return array


def _inf_last(array: Any) -> Any:
    array = array.copy()
    array.flat[-1] = np.inf
    return array


def _files() -> Iterator[NamedDamage]:
    for name in FILES:
        yield NamedDamage(replaced(name, Path.mkdir), f"{name} is not a regular file")
        yield NamedDamage(replaced(name, os.mkfifo), f"{name} is not a regular file")
        yield NamedDamage(replaced(name, lambda at: at.symlink_to("/dev/zero")), "not a regular")
    for name in FILES[:2]:
        for by in (1, 10, 100):
            yield NamedDamage(truncated(name, by), f"checksum of {name} does not match")
        yield NamedDamage(extended(name), f"checksum of {name} does not match")
        yield NamedDamage(removed(name), f"{name} is missing")
        yield NamedDamage(written(name, b""), f"checksum of {name} does not match")
        link = replaced(name, lambda at: at.symlink_to("nowhere"))
        yield NamedDamage(link, f"{name} is missing")
    yield NamedDamage(removed("SHA256SUMS"), "SHA256SUMS is missing")
    yield NamedDamage(written("SHA256SUMS", b""), "SHA256SUMS does not hold")
    yield NamedDamage(written("SHA256SUMS", b"\xff\xfe"), "SHA256SUMS does not hold")
    yield NamedDamage(truncated("SHA256SUMS", 20), "SHA256SUMS does not hold")
    yield NamedDamage(swapped, "checksum of manifest.json does not match")
    yield NamedDamage(taken_from_before, "epochs are done")
    yield NamedDamage(not_a_folder, "manifest.json")
    yield NamedDamage(emptied, "manifest.json is missing")


def _manifests() -> Iterator[NamedDamage]:
    deep = b"[" * 100_000
    for content in (b"", b"{", b"null", b"[]", b"12", deep, b"\x00\xff", b'{"format_version": 2'):
        problem = "format version None" if content in (b"null", b"[]", b"12") else "is no JSON"
        yield NamedDamage(written("manifest.json", content, is_sealed=True), problem)
    for version in (1, 3, 0, -1, "2", None, [2], 1e300, True):
        yield NamedDamage(changed_manifest(format_version=version), "format version")
    for count in (0, 3, 9, -2, 10**30):
        yield NamedDamage(changed_manifest(epoch_count=count), "epochs are done")
    for count in ("2", None, 2.0, True, [], {}):
        yield NamedDamage(changed_manifest(epoch_count=count), "manifest.json is incomplete")
    for fingerprint in (None, 3, "toy", []):
        yield NamedDamage(changed_manifest(fingerprint=fingerprint), "manifest.json is incomplete")
    for spent_s in (-1.0, float("nan"), float("inf")):
        yield NamedDamage(changed_manifest(spent_s=spent_s), "s were spent")
    yield NamedDamage(changed_manifest(spent_s="long"), "where a number belongs")
    yield NamedDamage(changed_manifest(spent_s=10**400), "a number that is too large")
    yield NamedDamage(changed_report(wall_s=10**400), "a number that is too large")
    for reports in (None, 1, "x", [1], [None], {}, [{}], [[]]):
        yield NamedDamage(changed_manifest(reports=reports), "report")
    yield NamedDamage(changed_report(epoch=5), "has no report of each")
    yield NamedDamage(changed_report(loss=float("nan")), "a loss is not finite")
    yield NamedDamage(changed_report(loss="low"), "where a number belongs")
    yield NamedDamage(changed_report(wall_s=None), "where a number belongs")
    yield NamedDamage(changed_report(metrics=[1]), "no whole reports")
    yield NamedDamage(changed_report(metrics={"mse": "x"}), "where a number belongs")
    yield NamedDamage(changed_report(batch_s=3), "no whole reports")
    yield NamedDamage(changed_report(batch_s=["x"]), "where a number belongs")
    yield NamedDamage(changed_report(surprise=1), "no whole reports")
    yield NamedDamage(changed_report(instances=float("inf")), "where a whole number belongs")


def _arrays() -> Iterator[NamedDamage]:
    for content in (b"", b"PK\x03\x04", b"\x93NUMPY\x01\x00", b"PK\x05\x06" + bytes(18)):
        sealed = written("arrays.npz", content, is_sealed=True)
        yield NamedDamage(sealed, "arrays.npz cannot be read")
    for name in ("model", "ids"):
        yield NamedDamage(changed_arrays(_without(name)), "arrays.npz cannot be read")
    objects = changed_arrays(_set("model", np.array([{}], dtype=object)))
    yield NamedDamage(objects, "arrays.npz cannot be read")
    for change in (np.float16, np.int32, lambda a: a.T, lambda a: a[:-1], lambda a: a.ravel()):
        yield NamedDamage(changed_arrays(_with("model", change)), "the model is")
    for change in (_nan_first, _inf_last):
        yield NamedDamage(changed_arrays(_with("model", change)), "values that are not finite")
    for change in (np.flip, lambda a: a + 1, lambda a: a[:-1], lambda a: a * 0):
        yield NamedDamage(changed_arrays(_with("ids", change)), "are not those of the job")


DAMAGES = (*_files(), *_manifests(), *_arrays())
