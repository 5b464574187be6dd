"""A real `motet server` for tests: it can be killed and started again on the same state."""

from __future__ import annotations

import os
import signal
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from marked_process import MARKER
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress
from motet.live.launcher.leftovers import MARK
from motet.live.process_table import stat_fields
from motet.live.spawner import NAME, SHEPHERD_NAME
from motet_forks import ForkedMotet, fork_motet
from waiting import wait_until

_STARTED = ("attempts", "aggregation", "memory")
"""Folders with processes that the launcher starts."""


class LiveServer:
    """One state folder, and the server that uses it."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self._mark = uuid.uuid4().hex
        self._command = ("server", "--state-dir", str(folder), *options)
        self.process: ForkedMotet | None = None
        # A pipe that nobody reads would fill up.
        self._said = tempfile.NamedTemporaryFile(mode="a+b")  # noqa: SIM115

    def start(self, *, keeps_address: bool = False) -> LiveClient:
        """Start the server; returns a client when it answers. Raises AssertionError with its last
        words. `keeps_address`: the address file is that of another server."""
        address = self.folder / "server.json"
        if not keeps_address:
            address.unlink(missing_ok=True)
        self._said.seek(0)
        self._said.truncate()
        environment = {**os.environ, MARKER: self._mark, "NO_COLOR": "1"}
        said = Path(self._said.name)
        self.process = fork_motet(self._command, environment, Path(os.devnull), said)
        wait_until(lambda: self._has_ended() or (address.exists() and not keeps_address))
        if self._has_ended():
            raise AssertionError(self.said())
        return LiveClient(ServerAddress.find(folder=self.folder))

    def said(self) -> str:
        """What it has written to standard error since its last start, whether or not its policy had
        been compiled before."""
        self._said.seek(0)
        lines = self._said.read().decode().splitlines(keepends=True)
        return "".join(line for line in lines if not line.startswith("compile  policy "))

    def kill(self) -> None:
        """Kill the server alone; launcher, shepherds and jobs are left to themselves."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def end(self) -> int:
        """End the server as an administrator does."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)

    def launchers(self) -> list[int]:
        """Processes of the launcher, of this machine or of a Ray cluster."""
        words = (b"motet.live.launcher.local", b"motet.interfaces.ray_launcher")
        return [pid for each in words for pid in self._processes(each)]

    def processes_of(self, module: str) -> list[int]:
        """Processes that run this module for the server."""
        return self._processes(module.encode())

    def shepherds(self) -> list[int]:
        """Living shepherds of this state folder."""
        folders = [str(self.folder / it).encode() + b"/" for it in _STARTED]
        return [
            int(entry.name)
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit()
            and SHEPHERD_NAME.encode() in (line := _read(entry / "cmdline"))
            and any(folder in line for folder in folders)
        ]

    def spawners(self) -> list[int]:
        """Processes that fork the shepherds of the launcher of this machine."""
        launchers = [*map(str, self.launchers())]
        return [
            pid
            for pid in _processes_with(NAME.encode())
            if (fields := stat_fields(str(pid))) is not None and fields[1] in launchers
        ]

    def aggregators(self) -> list[int]:
        """Processes of Aggregators of this state folder, the first that was started first."""
        folder = self.folder / "aggregation" / "aggregators"
        return _processes_with(b"motet.aggregation.aggregator", str(folder).encode())

    def lenders(self) -> list[int]:
        """Processes of lenders of this state folder, the first that was started first."""
        folder = self.folder / "memory" / "lenders"
        return _processes_with(b"motet.live.lent_memory.lender_process", str(folder).encode())

    def job_processes(self) -> list[int]:
        """Processes of jobs of this state folder."""
        return [*self.variables_of_jobs()]

    def variables_of_jobs(self) -> dict[int, dict[str, str]]:
        """The environment of every process of a job of this state folder, by process."""
        checkpoints = str(self.folder / "checkpoints")
        found = {
            int(entry.name): variables_of(int(entry.name))
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit()
        }
        return {
            pid: variables
            for pid, variables in found.items()
            if MARK in variables
            and variables.get("MOTET_CHECKPOINT_DIR", "").startswith(checkpoints)
        }

    def kill_everything(self) -> None:
        """End what a test leaves."""
        if self.process is not None:
            self.process.kill()
        left = [*self._processes(b""), *self.launchers(), *self.shepherds()]
        for pid in [*left, *self.job_processes()]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if self.process is not None:
            self.process.wait()

    def _has_ended(self) -> bool:
        assert self.process is not None
        return self.process.poll() is not None

    def _processes(self, words: bytes) -> list[int]:
        mark = f"{MARKER}={self._mark}".encode()
        return [
            int(entry.name)
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit()
            and mark in _read(entry / "environ")
            and words in _read(entry / "cmdline").replace(b"\0", b" ")
        ]


def _processes_with(*words: bytes) -> list[int]:
    """Those with all of these words in their command."""
    return sorted(
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit()
        and all(word in line for line in [_read(entry / "cmdline")] for word in words)
    )


def variables_of(pid: int) -> dict[str, str]:
    """The environment of a process; empty for one that has ended."""
    lines = _read(Path(f"/proc/{pid}/environ")).decode(errors="replace").split("\0")
    return dict(line.partition("=")[::2] for line in lines if "=" in line)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@contextmanager
def running_server(folder: Path, *arguments: str) -> Iterator[LiveServer]:
    """A server with these arguments; at the end nothing of it is left."""
    server = LiveServer(folder, *arguments)
    try:
        server.start()
        yield server
    finally:
        server.kill_everything()
