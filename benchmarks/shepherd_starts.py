"""Starts of gangs by a launcher: CPU time and memory of their shepherds, and time until they run.

The processes of a gang are `sh -c "exec sleep 1000"`. Each figure is the median of REPEATED gangs,
by one launcher after another, whose spawner has forked one shepherd before. CPU times are per
process: of the shepherd until all processes run, of the spawner that forks it, and of the launcher.
Memory is that of a shepherd with its share of what it has in common with others (PSS).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from motet.live.launcher.leftovers import MARK
from motet.live.launcher.message_lines import message_line
from motet.live.launcher.messages import (
    AttemptEnded,
    AttemptRunning,
    LauncherRequest,
    RankTask,
    StartAttempt,
    StopAttempt,
    parse_message,
)
from support.figures import Figure, parser, report

SIZES = (8, 64, 100)
REPEATED, QUICK_REPEATED = 5, 1
COMMAND = ("sh", "-c", "exec sleep 1000")


@dataclass(frozen=True)
class Start:
    """Of one gang. Milliseconds until its shepherds are ready and its processes run, of CPU time
    per process, and kilobytes of memory per shepherd."""

    ready_ms: float
    running_ms: float
    shepherd_ms: float
    spawner_ms: float
    launcher_ms: float
    shepherd_kb: float


class Launcher:
    """A process of its own, which has a spawner already."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        command = [sys.executable, "-m", "motet.live.launcher.local", str(folder / "notices"), "1"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen(command, text=True, **pipes)
        self._stop(self._run(1, 1))
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        (self._spawner,) = map(int, children.read_text().split())

    def start(self, size: int) -> Start:
        """Start a gang and stop it."""
        before_ms = cpu_ms(self._spawner), cpu_ms(self._process.pid)
        began_s = time.time()
        request = self._run(2, size)
        running_s = time.time()
        identities = [*Path(request.folder).glob("rank-*/shepherd.json")]
        ready_s = max(path.stat().st_mtime for path in identities)
        shepherds = [json.loads(path.read_text())["pid"] for path in identities]
        after_ms = cpu_ms(self._spawner), cpu_ms(self._process.pid)
        found = Start(
            (ready_s - began_s) * 1e3,
            (running_s - began_s) * 1e3,
            sum(map(cpu_ms, shepherds)) / size,
            (after_ms[0] - before_ms[0]) / size,
            (after_ms[1] - before_ms[1]) / size,
            sum(map(memory_kb, shepherds)) / size,
        )
        self._stop(request)
        return found

    def end(self) -> None:
        """Its shepherds have ended before."""
        self._process.communicate()

    def _run(self, number: int, size: int) -> StartAttempt:
        """Request an attempt and wait until all of its processes run."""
        folder = str(self._folder / "attempts" / "7" / str(number))
        variables = {"PATH": os.environ["PATH"], MARK: folder}
        tasks = [
            RankTask("m0", COMMAND, "/", {**variables, "MOTET_RANK": str(rank)})
            for rank in range(size)
        ]
        request = StartAttempt(f"7.{number}", folder, tuple(tasks), signal.SIGTERM, 5.0, 600.0)
        self._send(request)
        assert isinstance(self._report(), AttemptRunning)
        return request

    def _stop(self, request: StartAttempt) -> None:
        self._send(StopAttempt(request.attempt, signal.SIGTERM, 5.0))
        assert isinstance(self._report(), AttemptEnded)

    def _send(self, request: LauncherRequest) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(message_line(request) + "\n")
        self._process.stdin.flush()

    def _report(self) -> object:
        assert self._process.stdout is not None
        return parse_message(self._process.stdout.readline())


def cpu_ms(process: int) -> float:
    """CPU time of a process with one thread, of the nanoseconds that the kernel counts."""
    return int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) / 1e6


def memory_kb(process: int) -> int:
    """Its memory, with its share of what several processes have."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def started(size: int) -> Start:
    """A gang of a new launcher."""
    with TemporaryDirectory() as folder:
        launcher = Launcher(Path(folder))
        try:
            return launcher.start(size)
        finally:
            launcher.end()


def figures_of(size: int, starts: list[Start]) -> Iterator[Figure]:
    """Medians, with the least and the most."""
    names = ("shepherds are ready", "processes run", "CPU of a shepherd", "CPU of the spawner")
    names += ("CPU of the launcher", "memory of a shepherd")
    columns = zip(*map(astuple, starts), strict=True)
    for name, unit, values in zip(names, ("ms",) * 5 + ("KB",), columns, strict=True):
        spread = f"{min(values):,.1f} to {max(values):,.1f}"
        yield Figure(f"{size} processes: {name}", f"{median(values):,.1f} {unit}", spread)


def main() -> None:
    """Measure and report."""
    repeated = QUICK_REPEATED if parser(__doc__ or "").parse_args().quick else REPEATED
    figures = [
        figure
        for size in SIZES
        for figure in figures_of(size, [started(size) for _ in range(repeated)])
    ]
    report("shepherd_starts", "Starts of gangs", figures, plot=False)


if __name__ == "__main__":
    main()
