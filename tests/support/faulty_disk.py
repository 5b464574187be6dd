"""A disk that fails or stops: a file that nbdfuse serves from nbdkit with its error filter."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from waiting import wait_until

_PROGRAMS = ("nbdkit", "nbdfuse")


@dataclass(frozen=True)
class FaultyDisk:
    """`path`: a file on it, of all its size."""

    path: Path
    _errors: Path
    _server: int

    def fail(self) -> None:
        """All requests fail from now on."""
        self._errors.touch()

    def repair(self) -> None:
        """Requests succeed again."""
        self._errors.unlink(missing_ok=True)

    def stop(self) -> None:
        """Requests get no answer from now on."""
        os.kill(self._server, signal.SIGSTOP)

    def resume(self) -> None:
        """Requests are answered again."""
        os.kill(self._server, signal.SIGCONT)


@contextmanager
def faulty_disk(folder: Path, size_bytes: int) -> Iterator[FaultyDisk]:
    """A new disk; a skip where there is no FUSE, no nbdkit, or no nbdfuse."""
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if missing:
        pytest.skip(f"needs {' and '.join(missing)}: tools/test_packages.sh")
    if not os.access("/dev/fuse", os.R_OK | os.W_OK) or os.geteuid():
        pytest.skip("needs root and /dev/fuse")
    socket, errors, mounted = folder / "disk.sock", folder / "disk.fails", folder / "disk"
    mounted.mkdir()
    server = subprocess.Popen(
        [
            *("nbdkit", "--foreground", "--unix", socket, "--filter=error", "memory"),
            *(str(size_bytes), "error=EIO", "error-rate=100%", f"error-file={errors}"),
        ],
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(socket.exists)
        file = mounted / "file"
        door = subprocess.Popen(
            ["nbdfuse", file, f"nbd+unix:///?socket={socket}"], stderr=subprocess.DEVNULL
        )
        try:
            wait_until(file.exists)
            yield FaultyDisk(file, errors, server.pid)
        finally:
            errors.unlink(missing_ok=True)
            server.send_signal(signal.SIGCONT)
            subprocess.run(["umount", "--lazy", mounted], check=False)
            door.terminate()
            door.wait()
    finally:
        server.kill()
        server.wait()
