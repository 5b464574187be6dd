"""What tests of swap space need of the host: root, loop devices, a memory group with a limit."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from waiting import wait_until

_GROUPS = Path("/sys/fs/cgroup")
_PROGRAM = """
import mmap, resource, sys
pages, rounds = int(sys.argv[1]), int(sys.argv[2])
memory = mmap.mmap(-1, pages * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
def content(page, turn):
    return (page * 1_000_003 + turn).to_bytes(8, "little") * 512
for page in range(pages):
    memory[page * 4096 : page * 4096 + 4096] = content(page, 0)
print("written", flush=True)
sys.stdin.readline()
wrong = 0
for turn in range(rounds):
    for page in range(pages):
        place = slice(page * 4096, page * 4096 + 4096)
        wrong += memory[place] != content(page, turn)
        memory[place] = content(page, turn + 1)
print(wrong, resource.getrusage(resource.RUSAGE_SELF).ru_majflt, flush=True)
"""


def needs_root_and(*devices: str) -> None:
    """Skip the test where the kernel or a container refuses what it needs."""
    if os.geteuid():
        pytest.skip("needs root")
    for device in devices:
        if not Path(device).exists():
            pytest.skip(f"needs {device}")


@contextmanager
def only_swap_test() -> Iterator[None]:
    """The kernel spreads pages over all swap spaces, also over that of a test which kills its own.

    One test at a time, of all workers and of all users of the machine.
    """
    lock = Path(tempfile.gettempdir()) / "motet-swap-tests.lock"
    with lock.open("w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def limited_group(limit_bytes: int) -> Iterator[Path]:
    """A memory group; a process enters it by writing its number to `cgroup.procs`."""
    parent, limit = _own_group()
    group = parent / f"motet-test-{os.getpid()}"
    try:
        group.mkdir()
        (group / limit).write_text(str(limit_bytes), encoding="ascii")
    except OSError as error:
        pytest.skip(f"needs a memory group of its own: {error}")
    try:
        yield group
    finally:
        wait_until(lambda: not (group / "cgroup.procs").read_text(encoding="ascii"))
        group.rmdir()


class HungryProgram:
    """Writes so many pages and, when told, reads and changes them in some rounds.

    A context manager: it is killed at the end.
    """

    def __init__(self, group: Path, pages: int, rounds: int = 2) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(pages), str(rounds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: (group / "cgroup.procs").write_text("0", encoding="ascii"),
        )
        assert self.line() == ["written"]

    def line(self) -> list[str]:
        assert self.process.stdout is not None
        return self.process.stdout.readline().split()

    def go_on(self) -> None:
        """Let it read what it wrote, unless it has ended: the interpreter's pages are lost, too."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.write("\n")
            self.process.stdin.flush()

    def check(self) -> tuple[int, int]:
        """Wrong pages, and faults that waited for swap space."""
        self.go_on()
        wrong, faults = self.line()
        return int(wrong), int(faults)

    def __enter__(self) -> HungryProgram:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()


def _own_group() -> tuple[Path, str]:
    """The memory group of this process, and the file of its limit."""
    for line in Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return _GROUPS / "memory" / path.lstrip("/"), "memory.limit_in_bytes"
    return _GROUPS / path.lstrip("/"), "memory.max"
