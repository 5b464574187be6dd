"""A testbed whose hosts join the live clusters that a program on its front starts, one by one."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

from motet.interfaces.ray_nodes.cluster_record import RayClusterRecord

MOTET = [sys.executable, "-m", "motet.interfaces.cli"]
FRONT = "10.77.0.254"
HOSTS = ("m0", "m1", "m2")
_LOOK_EVERY_S = 0.2


def run_on_front(testbed: str, folder: Path, slots: int, command: Sequence[str]) -> int:
    """Run a command on the front; returns its exit status.

    Hosts m0, m1 and m2 of the testbed join every cluster whose state is a folder in `folder`, with
    this many slots each, until its head has ended.
    """
    with _joining(testbed, folder, slots):
        run = [*MOTET, "testbed", "run", "--name", testbed, "--", *command]
        return subprocess.run(run, check=False).returncode


@contextmanager
def _joining(testbed: str, folder: Path, slots: int) -> Iterator[None]:
    end = threading.Event()
    watcher = threading.Thread(target=_watch, args=(testbed, folder, slots, end))
    watcher.start()
    try:
        yield
    finally:
        end.set()
        watcher.join()


def _watch(testbed: str, folder: Path, slots: int, end: threading.Event) -> None:
    """A host whose node has ended joins again, as a service of its system would."""
    joined: dict[tuple[Path, str], subprocess.Popen[bytes]] = {}
    while not end.wait(_LOOK_EVERY_S):
        for state in folder.glob("*/"):
            if _has_head(state):
                for host in HOSTS:
                    process = joined.get((state, host))
                    if process is None or process.poll() is not None:
                        joined[state, host] = _join(testbed, state, slots, host)
    for process in joined.values():
        process.terminate()
    for process in joined.values():
        process.wait()


def _has_head(state: Path) -> bool:
    found = RayClusterRecord.read(state)
    return found is not None and psutil.pid_exists(found.pid)


def _join(testbed: str, state: Path, slots: int, host: str) -> subprocess.Popen[bytes]:
    execute = [*MOTET, "testbed", "exec", "--name", testbed, host, "--"]
    join = [*MOTET, "machine", "join", "--name", host, "--slots", str(slots), "--gpus", "none"]
    return subprocess.Popen(
        [*execute, *join, "--state-dir", str(state)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
