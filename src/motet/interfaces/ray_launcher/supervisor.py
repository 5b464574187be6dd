"""The supervisor of a machine: an actor that passes messages to the launcher of its machine.

It is detached: it outlives the process that has created it. What it starts is left to itself when
it dies; the next supervisor finds it. This module does not import Ray.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from motet.interfaces.ray_launcher.installed_versions import InstalledVersions

SOCKETS = "nodes"
"""Folder of the launchers' sockets, in the folder of the server's state."""
PROBED = ("", "checkpoints", "results")
"""Folders in that of the server's state to which processes of several machines write. Each has the
probe, because storage that is not shared may be mounted on one of them."""


@dataclass(frozen=True, slots=True)
class Opening:
    """Who talks to the supervisor. `epoch`: of the master. `folder`: state of the server.

    `probe`: a file in the folder, and its content. `node`, `address`: of this machine.
    """

    epoch: int
    folder: str
    probe: tuple[str, str]
    node: str
    address: str


@dataclass(frozen=True, slots=True)
class Opened:
    """`session`: for further calls. `clock_s`: of this machine. `refusal`: empty if accepted."""

    session: int
    clock_s: float
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Polled:
    """Reports from number `first` on. `clock_s`: of this machine, when the call returned."""

    clock_s: float
    first: int
    reports: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """What a machine runs. `unix_s`: the time by its clock."""

    versions: InstalledVersions
    unix_s: float


class Supervisor:
    """Runs one launcher, of the latest session. Methods are called from several threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._epoch = self._session = self._first = 0
        self._reports: list[str] = []
        self._process: subprocess.Popen[str] | None = None
        # Ray lowers the priority of its workers (RAY_worker_niceness), and jobs would inherit it.
        with suppress(PermissionError):
            usual = os.getpriority(os.PRIO_PROCESS, os.getppid())
            os.setpriority(os.PRIO_PROCESS, 0, usual)

    def open(self, opening: Opening) -> Opened:
        """Begin a session, which ends the one before; refuse an earlier master."""
        with self._changed:
            refusal = self._refusal(opening)
            if refusal:
                return Opened(0, time.monotonic(), refusal)
            self._end_launcher()
            self._epoch, self._session = opening.epoch, self._session + 1
            self._reports, self._first = [], 0
            process = self._process = self._start_launcher(opening)
            threading.Thread(target=self._read, args=(process,), daemon=True).start()
            return Opened(self._session, time.monotonic())

    def send(self, session: int, lines: tuple[str, ...]) -> bool:
        """Pass requests on; returns whether the session is still the present one."""
        with self._changed:
            if session != self._session or self._process is None:
                return False
            assert self._process.stdin is not None
            with suppress(BrokenPipeError):
                self._process.stdin.write("".join(f"{line}\n" for line in lines))
                self._process.stdin.flush()
            return True

    def poll(self, session: int, known: int, wait_s: float) -> Polled | None:
        """Reports after the first `known` ones, as soon as there are any; None: it is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_due(session, known), wait_s)
            if session != self._session or self._process is None:
                return None
            del self._reports[: known - self._first]
            self._first = known
            return Polled(time.monotonic(), known, tuple(self._reports))

    def examine(self) -> MachineFacts:
        """What this machine runs, and its time."""
        return MachineFacts(InstalledVersions.here(), time.time())

    def close(self) -> None:
        """End the present session; what its launcher has started runs on."""
        with self._changed:
            self._end_launcher()
            self._changed.notify_all()

    def _is_due(self, session: int, known: int) -> bool:
        has_news = self._first + len(self._reports) > known
        return has_news or session != self._session or self._process is None

    def _refusal(self, opening: Opening) -> str:
        if opening.epoch < self._epoch:
            return f"a later master has taken over (epoch {self._epoch})"
        path, content = Path(opening.probe[0]), opening.probe[1]
        for name in PROBED:
            folder = path.parent / name
            if not _holds(folder / path.name, content):
                return f"does not see {folder}; it must be on storage that all machines share"
        return ""

    def _start_launcher(self, opening: Opening) -> subprocess.Popen[str]:
        sockets = Path(opening.folder) / SOCKETS
        sockets.mkdir(mode=0o700, exist_ok=True)
        notices = sockets / f"{opening.node}.sock"
        command = [sys.executable, "-m", "motet.live.launcher.node", str(notices), opening.address]
        return subprocess.Popen(
            [*command, str(opening.epoch)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )

    def _end_launcher(self) -> None:
        """Its shepherds run on."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            with self._changed:
                if process is not self._process or not line.endswith("\n"):
                    break
                self._reports.append(line)
                self._changed.notify_all()
        process.wait()
        with self._changed:
            if process is self._process:
                self._process = None
                self._changed.notify_all()


def _holds(path: Path, content: str) -> bool:
    try:
        return path.read_text(encoding="utf-8") == content
    except OSError:
        return False
