"""A file system of a few hundred kilobytes, which can be full or read-only."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

_CHUNK = bytes(4096)


@dataclass(frozen=True)
class SmallDisk:
    """Mounted at `path`."""

    path: Path

    def fill(self) -> None:
        """Take all the room that is left."""
        with (self.path / "filler").open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(_CHUNK)

    def enlarge(self, size_kb: int) -> None:
        """Make room."""
        (self.path / "filler").unlink(missing_ok=True)
        _mount("-o", f"remount,size={size_kb}k", self.path)


@contextmanager
def small_disk(path: Path, size_kb: int) -> Iterator[SmallDisk]:
    """A file system of this size at a new folder; a skip where this user cannot mount one."""
    path.mkdir()
    with _mounted("-t", "tmpfs", "-o", f"size={size_kb}k", "tmpfs", path):
        yield SmallDisk(path)


@contextmanager
def read_only(path: Path) -> Iterator[None]:
    """A folder with all that it contains cannot be written to, not even by root.

    It is covered by a view of itself, which is made read-only elsewhere: where files are being
    written it could not be.
    """
    view = path.with_name(f"{path.name}.view")
    view.mkdir()
    with _mounted("--bind", path, view):
        _mount("-o", "remount,bind,ro", view)
        with _mounted("--bind", view, path):
            yield
    view.rmdir()


@contextmanager
def _mounted(*arguments: str | Path) -> Iterator[None]:
    """`mount ARGUMENTS`; the last one is the mount point."""
    if os.getuid() != 0:
        pytest.skip("needs root, to mount a file system")
    try:
        _mount(*arguments)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"cannot mount a file system: {error.stderr}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(arguments[-1])], check=True)


def _mount(*arguments: str | Path) -> None:
    subprocess.run(["mount", *map(str, arguments)], check=True, capture_output=True, text=True)
