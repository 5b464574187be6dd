"""The block device of remote memory beside nbdkit, under fio, in one run.

    python benchmarks/remote_memory.py [--seconds 1.5] [--repeat 3] [--dir .]

nbdkit's memory plugin is one hop. Motet is measured with its pages in this process (`local`: the
NBD server alone) and with a lender in another process, two hops: `remote` with the backup file in
/dev/shm, which leaves the disk out, and afterwards `disk` with the backup file in --dir. Prints the
best of the repetitions: IOPS and CPU microseconds per request of the serving processes. A run of
all cases and servers takes four minutes; its results are in results/remote_memory.json.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import TypeAlias

import psutil

from motet.remote_memory.borrower.borrowed_memory import BorrowedMemory, DeviceSettings
from motet.remote_memory.core.device_geometry import DeviceGeometry
from motet.remote_memory.core.head_room import PoolLimits
from motet.remote_memory.lender.lender import Lender, LenderSettings
from motet.remote_memory.nbd.nbd_server import NbdServer
from motet.transport import Endpoint, new_secret, use_short_switch_interval
from support.figures import Figure, report
from support.hosts import unwind_when_terminated
from support.memory_figures import REPEAT

SIZE, SLAB = 256 << 20, 64 << 20
CASES = {
    "4K read, depth 1": ("4k", "randread", 1),
    "4K write, depth 1": ("4k", "randwrite", 1),
    "4K read, depth 32": ("4k", "randread", 32),
    "4K write, depth 32": ("4k", "randwrite", 32),
    "128K read, depth 8": ("128k", "randread", 8),
    "128K write, depth 8": ("128k", "randwrite", 8),
}
AIMS: dict[str, dict[str, float]] = {
    "local": {"4K read, depth 1": 1.0, "4K write, depth 1": 1.0},
    "remote": {
        "4K read, depth 1": 0.4,
        "4K write, depth 1": 0.4,
        "128K read, depth 8": 0.5,
        "128K write, depth 8": 0.5,
    },
    "disk": {},
}
MEMORY = Path("/dev/shm")
Rate: TypeAlias = tuple[float, float]
"""Requests per second, and CPU microseconds of the servers per request."""
TITLE = (
    "The block device of Infiniswap (measured) beside nbdkit's memory (peer), requests per second"
)


class _Done:
    def finish(self) -> None:
        """Nothing is in flight."""

    def finish_all(self) -> tuple[None]:
        """Of one write."""
        return (None,)


class ArrayStore:
    """Pages in the memory of the process: the NBD server without what is behind it."""

    def __init__(self) -> None:
        self._content = memoryview(bytearray(SIZE))
        self.size_bytes = SIZE

    def begin_read(self, offset: int, into: memoryview) -> _Done:
        into[:] = self._content[offset : offset + len(into)]
        return _DONE

    def begin_write(self, offset: int, data: memoryview) -> _Done:
        self._content[offset : offset + len(data)] = data
        return _DONE

    def begin_writes(self, writes: Sequence[tuple[int, memoryview]]) -> list[_Done]:
        return [self.begin_write(offset, data) for offset, data in writes]

    def forget(self, offset: int, length: int) -> None:
        """Nothing is freed."""

    def flush(self) -> None:
        """There is no disk."""


_DONE = _Done()


@dataclass(frozen=True)
class Served:
    """A device to measure, and the processes that serve it."""

    uri: str
    processes: Sequence[psutil.Process]

    def cpu_s(self) -> float:
        return sum(sum(each.cpu_times()[:2]) for each in self.processes)


def _serve_array(folder: Path, pipe: Pipe) -> None:
    use_short_switch_interval()
    with NbdServer(folder / "local.sock", ArrayStore(), "local"):
        pipe.send(None)
        pipe.recv()


def _serve_lender(secret: bytes, pipe: Pipe) -> None:
    use_short_switch_interval()
    limits = PoolLimits(1 << 40, 0, SLAB, SIZE // SLAB)
    with Lender(LenderSettings(limits), secret, lambda: 1 << 39) as lender:
        pipe.send(lender.endpoint)
        pipe.recv()


def _serve_device(folder: Path, lender: Endpoint, secret: bytes, pipe: Pipe) -> None:
    use_short_switch_interval()
    settings = DeviceSettings(DeviceGeometry(SIZE, SLAB), folder / "backup")
    with (
        BorrowedMemory(settings, [lender], secret, "benchmark") as memory,
        NbdServer(folder / "remote.sock", memory.store, "remote", memory.new_buffer),
    ):
        while memory.view().away:
            time.sleep(0.01)
        for slab in range(SIZE // SLAB):
            memory.map_slab(slab)
        pipe.send(None)
        pipe.recv()


@contextmanager
def process(target: Callable[..., None], *arguments: object) -> Iterator[tuple[int, object]]:
    """A process that serves until the end; its id and what it sent when it was ready."""
    ours, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    running = context.Process(target=target, args=(*arguments, theirs))
    running.start()
    assert running.pid is not None
    try:
        yield running.pid, ours.recv()
    finally:
        ours.send(None)
        running.join()


@contextmanager
def nbdkit(folder: Path) -> Iterator[Served]:
    socket = folder / "nbdkit.sock"
    running = subprocess.Popen(["nbdkit", "-f", "-U", socket, "memory", str(SIZE)])
    while not socket.exists():
        time.sleep(0.01)
    try:
        yield Served(f"nbd+unix:///?socket={socket}", [psutil.Process(running.pid)])
    finally:
        running.terminate()
        running.wait()


@contextmanager
def local(folder: Path) -> Iterator[Served]:
    with process(_serve_array, folder) as (number, _):
        yield Served(f"nbd+unix:///?socket={folder}/local.sock", [psutil.Process(number)])


@contextmanager
def remote(folder: Path) -> Iterator[Served]:
    secret = new_secret()
    with ExitStack() as stack:
        lender, endpoint = stack.enter_context(process(_serve_lender, secret))
        device, _ = stack.enter_context(process(_serve_device, folder, endpoint, secret))
        processes = [psutil.Process(number) for number in (lender, device)]
        yield Served(f"nbd+unix:///?socket={folder}/remote.sock", processes)


SERVERS: dict[str, Callable[[Path], AbstractContextManager[Served]]] = {
    "nbdkit": nbdkit,
    "local": local,
    "remote": remote,
    "disk": remote,
}


def fio(served: Served, block: str, pattern: str, depth: int, seconds: float) -> Rate:
    """Of one client."""
    before_s = served.cpu_s()
    done = subprocess.run(
        [
            *("fio", "--name=x", "--ioengine=nbd", f"--uri={served.uri}", f"--rw={pattern}"),
            *(f"--bs={block}", f"--iodepth={depth}", f"--size={SIZE}", "--time_based"),
            *(f"--runtime={seconds}", "--output-format=json", "--randrepeat=1"),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    cpu_s = served.cpu_s() - before_s
    (job,) = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
    side = job["read" if "read" in pattern else "write"]
    return side["iops"], 1e6 * cpu_s / max(side["total_ios"], 1)


def main() -> None:
    unwind_when_terminated()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--repeat", type=int, default=REPEAT)
    parser.add_argument("--dir", type=Path, default=Path())
    parser.add_argument("--only", nargs="*", choices=["nbdkit", "local", "remote", "disk"])
    parser.add_argument("--case", nargs="*", choices=[*CASES])
    given = parser.parse_args()
    missing = [name for name in ("fio", "nbdkit") if shutil.which(name) is None]
    if missing:
        sys.exit(f"needs {' and '.join(missing)}: tools/test_packages.sh")
    only = given.only or ["nbdkit", "local", "remote", "disk"]
    passes = [[each for each in only if each != "disk"]]
    if "disk" in only:
        passes.append([each for each in only if each in ("nbdkit", "disk")])
    cases, figures = given.case or [*CASES], list[Figure]()
    for names in filter(None, passes):
        backup = given.dir if "disk" in names else MEMORY
        found = _measured(names, backup, cases, given.seconds, given.repeat)
        figures += [
            _figure(each, case, best) for each in names if each != "nbdkit" for case, best in found
        ]
    if not given.only and not given.case:
        report("remote_memory", TITLE, figures, plot=False)


def _measured(
    names: list[str], backup: Path, cases: list[str], seconds: float, repeat: int
) -> list[tuple[str, dict[str, Rate]]]:
    """The best of the repetitions, by case and server; the servers take turns."""
    print(f"{'':22}" + "".join(f"{name:>22}" for name in names))
    found = []
    with tempfile.TemporaryDirectory(dir=backup) as name, ExitStack() as stack:
        opened = {each: stack.enter_context(SERVERS[each](Path(name))) for each in names}
        for served in opened.values():  # Every page is written once.
            fio(served, "1m", "write", 4, seconds)
        for case in cases:
            best = dict.fromkeys(opened, (0.0, 0.0))
            for _ in range(repeat):
                for each, served in opened.items():
                    best[each] = max(best[each], fio(served, *CASES[case], seconds))
            cells = "".join(f"{iops:>13,.0f} {cpu_us:>5.1f} us" for iops, cpu_us in best.values())
            print(f"{case:22}{cells}", flush=True)
            found.append((case, best))
    return found


def _figure(server: str, case: str, best: dict[str, Rate]) -> Figure:
    """Requests per second, with the CPU time of each."""
    ours, theirs = best[server], best.get("nbdkit", (0.0, 0.0))
    return Figure(
        f"{server}: {case}",
        f"{ours[0]:,.0f}/s, {ours[1]:.1f} µs",
        f"{theirs[0]:,.0f}/s, {theirs[1]:.1f} µs",
        round(ours[0] / max(theirs[0], 1.0), 3),
        AIMS[server].get(case),
    )


if __name__ == "__main__":
    main()
