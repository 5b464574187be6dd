"""Archives of snapshots: tar files that depend on names, contents and the right to execute only."""

from __future__ import annotations

import hashlib
import os
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from motet.domain.errors import BadInput
from motet.live.workdirs.chosen_files import OWN_RULES, chosen_files

MOST_BYTES = 512 << 20
MOST_FILES = 50_000
_BEGIN_S = 315_532_800
"""1980: the earliest time that all archive formats can express."""
_CHUNK_BYTES = 1 << 20
_REMEDY = f"leave files out in {OWN_RULES}, and give large data by absolute paths"


@dataclass(frozen=True, slots=True)
class Archive:
    """`digest`: SHA-256 of the file, in hexadecimal. `size`: of the file in bytes. `files`: how
    many files and links are in it.
    """

    digest: str
    size: int
    files: int


def write_archive(folder: Path, target: IO[bytes]) -> Archive:
    """Write the chosen files of a folder, `target` being empty.

    Raises BadInput for a folder that is too large, for files that cannot be read or are not plain,
    and for links out of the folder.
    """
    sizes: dict[str, int] = {}
    total = files = 0
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for entry in chosen_files(folder):
            info = _described(entry, folder)
            sizes[info.name] = info.size
            total += info.size
            files += not info.isdir()
            if total > MOST_BYTES or len(sizes) > MOST_FILES:
                raise BadInput(_too_large(folder, sizes))
            _add(archive, info, entry.path)
    size = target.tell()
    target.seek(0)
    return Archive(_digest(target), size, files)


def _digest(file: IO[bytes]) -> str:
    found = hashlib.sha256()
    while data := file.read(_CHUNK_BYTES):
        found.update(data)
    return found.hexdigest()


def _described(entry: os.DirEntry[str], folder: Path) -> tarfile.TarInfo:
    info = tarfile.TarInfo(os.path.relpath(entry.path, folder))
    found = entry.stat(follow_symlinks=False)
    info.mtime = _BEGIN_S
    if stat.S_ISLNK(found.st_mode):
        info.type, info.linkname, info.mode = tarfile.SYMTYPE, os.readlink(entry.path), 0o777
        _check_link(info, f"{entry.path}: ")
    elif stat.S_ISDIR(found.st_mode):
        info.type, info.mode = tarfile.DIRTYPE, 0o755
    elif stat.S_ISREG(found.st_mode):
        info.mode = 0o755 if found.st_mode & stat.S_IXUSR else 0o644
        info.size = found.st_size
    else:
        raise BadInput(f"{entry.path}: not a file; leave it out in {OWN_RULES}")
    return info


def _add(archive: tarfile.TarFile, info: tarfile.TarInfo, path: str) -> None:
    if not info.isreg():
        archive.addfile(info)
        return
    try:
        with open(path, "rb") as file:
            archive.addfile(info, file)
    except OSError as error:
        reason = error.strerror or "it became shorter meanwhile"
        raise BadInput(f"{path}: cannot be read ({reason})") from error


def _too_large(folder: Path, sizes: dict[str, int]) -> str:
    largest = sorted(sizes, key=lambda name: -sizes[name])[:3]
    told = ", ".join(f"{name} {sizes[name] / 1e6:,.1f} MB" for name in largest)
    return (
        f"{folder}: a snapshot has at most {MOST_FILES:,} files and {MOST_BYTES >> 20} MiB; "
        f"{_REMEDY} (largest so far: {told})"
    )


def checked_members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """What is in an archive that anyone may have written. Raises BadInput for a member that would
    be written outside of the folder, or is no file, folder or link, and if there is too much."""
    names: set[str] = set()
    links: set[str] = set()
    total = 0
    for info in archive:
        place = PurePosixPath(info.name)
        names.add(str(place))
        total += info.size
        _check_place(place, links)
        if info.issym():
            _check_link(info, "the archive: ")
            links.add(str(place))
        elif not (info.isreg() or info.isdir()):
            raise BadInput(f"the archive has a member that is no file: {info.name[:80]!r}")
        if len(names) > MOST_FILES or total > MOST_BYTES:
            raise BadInput(f"the archive has more than {MOST_FILES:,} files or {MOST_BYTES} bytes")
        yield info


def _check_place(place: PurePosixPath, links: set[str]) -> None:
    if place.is_absolute() or ".." in place.parts or not place.parts:
        raise BadInput(f"the archive has a member outside of its folder: {str(place)[:80]!r}")
    if links & {str(each) for each in (place, *place.parents)}:
        raise BadInput(f"the archive has a member behind a link: {str(place)[:80]!r}")


def _check_link(info: tarfile.TarInfo, where: str) -> None:
    parts: list[str] = [*PurePosixPath(info.name).parent.parts]
    for part in PurePosixPath(info.linkname).parts:
        if part == "/" or (part == ".." and not parts):
            raise BadInput(
                f"{where}a link out of the folder, to {info.linkname[:80]}; leave it out in "
                f"{OWN_RULES}, and name what it links to by its absolute path"
            )
        parts = parts[:-1] if part == ".." else [*parts, part]


def archive_names(path: Path) -> frozenset[str]:
    """What is in an archive. Raises BadInput unless it can be unpacked."""
    try:
        with tarfile.open(path, "r:") as archive:
            return frozenset(str(PurePosixPath(info.name)) for info in checked_members(archive))
    except tarfile.TarError as error:
        raise BadInput(f"the archive is no tar file ({error})") from error


def unpack_archive(path: Path, folder: Path) -> None:
    """Write the files into an empty folder. Raises BadInput, OSError."""
    with tarfile.open(path, "r:") as archive:
        for info in checked_members(archive):
            place = folder / info.name
            place.parent.mkdir(parents=True, exist_ok=True)
            if info.isdir():
                place.mkdir(exist_ok=True)
            elif info.issym():
                place.symlink_to(info.linkname)
            else:
                _write(archive, info, place)


def _write(archive: tarfile.TarFile, info: tarfile.TarInfo, place: Path) -> None:
    source = archive.extractfile(info)
    assert source is not None
    mode = 0o700 if info.mode & stat.S_IXUSR else 0o600
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with source, open(descriptor, "wb") as target:
        while chunk := source.read(_CHUNK_BYTES):
            target.write(chunk)
