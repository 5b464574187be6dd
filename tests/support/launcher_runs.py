"""Launchers as processes of their own, driven as the master does it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from attempt_files import attempt_file
from motet.live.launcher.leftovers import MARK, marked_processes
from motet.live.launcher.message_lines import message_line
from motet.live.launcher.messages import (
    ClusterSeen,
    LauncherRequest,
    MachineExamined,
    RankTask,
    Report,
    StartAttempt,
    parse_message,
)
from motet.live.process_table import stat_fields
from motet.live.spawner import SHEPHERD_NAME


class Launchers:
    """One launcher after another, on the same folder.

    `command` takes the epoch of the master as its last argument. `machine`: where gangs run.
    """

    def __init__(self, folder: Path, command: Sequence[str], machine: str = "m0") -> None:
        self.folder, self.epoch = folder, 0
        self.command, self.machine = command, machine
        self.process: subprocess.Popen[str] | None = None
        self.begun: list[str] = []
        self.start()

    def start(self) -> None:
        self.epoch += 1
        self.process = subprocess.Popen(
            [*self.command, str(self.epoch)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def send(self, request: LauncherRequest) -> None:
        assert self.process is not None
        assert self.process.stdin is not None
        self.process.stdin.write(message_line(request) + "\n")
        self.process.stdin.flush()

    def report(self) -> LauncherRequest | Report:
        """The next one about an attempt."""
        assert self.process is not None
        assert self.process.stdout is not None
        while True:
            found = parse_message(self.process.stdout.readline())
            if not isinstance(found, ClusterSeen | MachineExamined):
                return found

    def gang(self, script: str, size: int = 2, number: int = 1) -> StartAttempt:
        """An attempt of `size` processes that run a shell script."""
        folder = str(self.folder / "attempts" / "7" / str(number))
        self.begun.append(folder)
        tasks = [
            RankTask(
                self.machine,
                ("sh", "-c", script),
                "/",
                {"PATH": os.environ["PATH"], MARK: folder, "MOTET_RANK": str(rank)},
            )
            for rank in range(size)
        ]
        return StartAttempt(f"7.{number}", folder, tuple(tasks), signal.SIGTERM, 5.0, 60.0)

    def notices(self, request: StartAttempt) -> Path:
        """Where the first process of an attempt sends its notices."""
        number = int(request.attempt.partition(".")[2])
        return Path(attempt_file(self.folder, 7, number, 0, "task.json")["notify"])

    def shepherd_of(self, rank: int) -> int:
        pid: int = attempt_file(self.folder, 7, 1, rank, "shepherd.json")["pid"]
        return pid

    def spawner(self) -> int:
        """The process that has forked the shepherds of the first attempt."""
        fields = stat_fields(str(self.shepherd_of(0)))
        assert fields is not None
        return int(fields[1])

    def end(self) -> None:
        self.kill()
        for path in self.folder.glob("attempts/*/*/rank-*"):
            identity = attempt_file(self.folder, 7, int(path.parts[-2]), 0, "shepherd.json")
            if identity is not None and SHEPHERD_NAME.encode() in _command_line(identity["pid"]):
                os.kill(identity["pid"], signal.SIGKILL)
        for folder in self.begun:
            for pid in marked_processes(folder):
                os.kill(pid, signal.SIGKILL)


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
