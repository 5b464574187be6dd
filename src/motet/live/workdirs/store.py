"""The archives that a server keeps, each under its digest."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Self

from motet.domain.errors import BadInput
from motet.live.workdirs.archive import MOST_BYTES, archive_names
from motet.live.workdirs.digest import DIGEST, archive_path

LARGEST_UPLOAD_BYTES = MOST_BYTES + (64 << 20)
"""Names and padding come to the files."""
_PARTIAL, _ENDING = ".receiving-", ".tar"


class SnapshotStore:
    """Archives below a folder, which is created with the first one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def size(self, digest: str) -> int | None:
        """Of an archive in bytes, which is then in use anew; None: it is not here."""
        path = archive_path(self._folder, digest)
        try:
            os.utime(path)
            return path.stat().st_size
        except FileNotFoundError:
            return None

    def names(self, snapshot: bool | str) -> frozenset[str] | None:
        """The files and folders of the snapshot of a job; None: the job has none. Raises BadInput
        if its archive is not here."""
        if snapshot is False:
            return None
        if snapshot is True or self.size(snapshot) is None:
            raise BadInput(
                "snapshot: send the archive first, PUT /api/v1/snapshots/SHA256, and give its "
                "SHA-256 here; `motet submit` and motet.Client do so"
            )
        return archive_names(archive_path(self._folder, snapshot))

    def receive(self, digest: str) -> ReceivedArchive:
        """Begin to receive an archive."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return ReceivedArchive(self._folder, digest)

    def unused_since(self, before_s: float) -> set[str]:
        """Archives that nobody has sent or asked for since then, Unix time; also the names of those
        that did not arrive."""
        if not self._folder.is_dir():
            return set()
        found = [each for each in self._folder.iterdir() if each.stat().st_mtime < before_s]
        return {each.name.removesuffix(_ENDING) for each in found}

    def forget(self, names: Collection[str]) -> None:
        """Delete what `unused_since` has named."""
        for name in names:
            place = name if name.startswith(_PARTIAL) else name + _ENDING
            (self._folder / place).unlink(missing_ok=True)


class ReceivedArchive:
    """An archive on its way; without `keep` nothing of it remains."""

    def __init__(self, folder: Path, digest: str) -> None:
        assert re.fullmatch(DIGEST, digest)
        self._target, self._digest = archive_path(folder, digest), digest
        self._hash = hashlib.sha256()
        descriptor, name = tempfile.mkstemp(prefix=_PARTIAL, dir=folder)
        self._partial, self._file = Path(name), os.fdopen(descriptor, "wb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()
        self._partial.unlink(missing_ok=True)

    def write(self, data: bytes) -> None:
        """The next bytes. Raises OSError."""
        self._hash.update(data)
        self._file.write(data)

    def keep(self) -> int:
        """The archive is complete and remains, whatever happens; returns its size.

        Raises BadInput if it is not what its digest says, or cannot be unpacked.
        """
        if self._hash.hexdigest() != self._digest:
            raise BadInput("the archive was changed on its way: its SHA-256 differs; send it again")
        self._file.flush()
        archive_names(self._partial)
        os.fsync(self._file.fileno())
        size = self._partial.stat().st_size
        self._partial.replace(self._target)
        _sync_folder(self._target.parent)
        return size


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
