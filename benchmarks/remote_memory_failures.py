"""What failed lenders and evictions cost a program with 75 % of its data in memory (figure 2.16).

    python benchmarks/remote_memory_failures.py [--mb 48] [--runs 10] [--dir .]

The slabs are at six lender processes, the backup is on a throttled disk. The program reads rows of
1 KiB and writes one in twenty; popular ones are drawn by Zipf's law. Prints the loss of
throughput in the seconds after a random lender was killed, after the busiest one was killed, and
while one slab per second is evicted; the loss in as many seconds without an event; and how long it
takes to map and to evict a slab. Takes five minutes; the results are in
results/remote_memory_failures.json. Needs Linux, root, fio and control groups of version 1 (for the
throttle).
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from motet.remote_memory.borrower.borrowed_memory import BorrowedMemory, DeviceSettings
from motet.remote_memory.buffer.block_cache import BlockCache
from motet.remote_memory.core.device_geometry import DeviceGeometry
from motet.transport import new_secret, use_short_switch_interval
from support.evicting_lender import EvictingLender, EvictingLenders
from support.figures import Figure, report
from support.hosts import unwind_when_terminated
from support.memory_figures import LOST, NO_EVENT
from support.memory_processes import load
from support.throttled_disk import Disk, is_measurable, throttled_disk

LENDERS = 6
SLAB = 4 << 20
BLOCK, ROW = 16 << 10, 1 << 10
SHARE, WRITES, ZIPF = 75, 0.05, 0.8
PENDING = 8 << 20
SETTLE_S, BEFORE_S, AFTER_S, EVICTIONS = 2, 3, 8, 10
BUSIEST, QUIET = 3, 5


@dataclass(frozen=True)
class Given:
    """`nbytes`: of the program's data. `secret`: of lenders and borrower."""

    nbytes: int
    secret: bytes


class RowProgram(threading.Thread):
    """Reads and writes rows until it is ended. `seconds`: rows of each second."""

    def __init__(self, memory: BorrowedMemory) -> None:
        super().__init__(daemon=True)
        size_bytes = memory.store.size_bytes
        self._cache = BlockCache(memory.store, size_bytes * SHARE // 100 // BLOCK, BLOCK)
        self._rows = size_bytes // ROW
        self._ends = threading.Event()
        self.seconds: list[int] = []

    def fill(self) -> None:
        """Write all of it."""
        block = bytes(BLOCK)
        for start in range(0, self._rows * ROW, BLOCK):
            self._cache.write(start, memoryview(block))
        self._cache.flush()

    def run(self) -> None:
        """Until `end`."""
        rng = np.random.default_rng(2)
        weights = np.cumsum(np.arange(1, self._rows + 1) ** -ZIPF)
        order = rng.permutation(self._rows)
        row = memoryview(bytearray(ROW))
        done, until_s = 0, time.monotonic() + 1
        while not self._ends.is_set():
            drawn = np.searchsorted(weights, rng.random(4096) * weights[-1])
            is_written = (rng.random(4096) < WRITES).tolist()
            for place, writes in zip(order[drawn].tolist(), is_written, strict=True):
                if writes:
                    self._cache.write(place * ROW, row)
                else:
                    self._cache.read(place * ROW, row)
                done += 1
                while time.monotonic() >= until_s:
                    self.seconds.append(done)
                    done, until_s = 0, until_s + 1
                if self._ends.is_set():
                    break

    def rate(self, seconds: int) -> float:
        """Rows per second in the seconds that follow."""
        start = len(self.seconds)
        while len(self.seconds) < start + seconds:
            time.sleep(0.05)
        return statistics.mean(self.seconds[start : start + seconds])

    def end(self) -> None:
        """Before the store is closed."""
        self._ends.set()
        self.join()
        self._cache.drop()


@contextmanager
def running(
    nbytes: int, disk: Disk, lenders: list[EvictingLender], secret: bytes
) -> Iterator[tuple[RowProgram, list[float]]]:
    """The program in its steady state, with all slabs mapped; how long each mapping took."""
    backup = disk.path / "backup"
    settings = DeviceSettings(DeviceGeometry(nbytes, SLAB), backup, arena_bytes=PENDING)
    endpoints = [each.endpoint for each in lenders]
    with BorrowedMemory(settings, endpoints, secret, "benchmark") as memory:
        while memory.view().away:
            time.sleep(0.01)
        mapped = []
        for slab in range(nbytes // SLAB):
            began_s = time.perf_counter()
            memory.map_slab(slab)
            mapped.append(time.perf_counter() - began_s)
        program = RowProgram(memory)
        program.fill()
        program.start()
        program.rate(SETTLE_S)
        yield program, mapped
        program.end()


def without_event(group: EvictingLenders, disk: Disk, given: Given) -> list[float]:
    """The loss of throughput from one time to the next, while nothing happens."""
    group.replace_dead()
    with running(given.nbytes, disk, group.all, given.secret) as (program, _):
        losses = []
        for _ in range(QUIET):
            before = program.rate(BEFORE_S)
            losses.append(1 - program.rate(AFTER_S) / before)
    return losses


def kill_one(group: EvictingLenders, disk: Disk, given: Given, *, is_busiest: bool) -> float:
    """The loss of throughput after a lender was killed."""
    group.replace_dead()
    lenders = group.all
    with running(given.nbytes, disk, lenders, given.secret) as (program, _):
        cpu_s = {id(each): each.cpu_s() for each in lenders}
        before = program.rate(BEFORE_S)
        busiest = max(lenders, key=lambda each: each.cpu_s() - cpu_s[id(each)])
        (busiest if is_busiest else random.choice(lenders)).kill()
        loss = 1 - program.rate(AFTER_S) / before
    print(f"  {before:,.0f} rows/s, then {100 * loss:.1f} % less", flush=True)
    return loss


def evict_each_second(
    group: EvictingLenders, disk: Disk, given: Given
) -> tuple[float, list[float], list[float]]:
    """The loss of throughput, how long evictions took, and mappings before."""
    group.replace_dead()
    with running(given.nbytes, disk, group.all, given.secret) as (program, mapped):
        before = program.rate(BEFORE_S)
        start = len(program.seconds)
        times = []
        for _ in range(EVICTIONS):
            began_s = time.monotonic()
            times.append(random.choice(group.all).evict())
            time.sleep(max(began_s + 1 - time.monotonic(), 0))
        after = statistics.mean(program.seconds[start:])
        return 1 - after / before, [each for each in times if each], mapped


def main() -> None:
    """See the module."""
    unwind_when_terminated()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=48)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--dir", type=Path, default=Path())
    given = parser.parse_args()
    if not is_measurable():
        return
    nbytes = given.mb << 20
    use_short_switch_interval()
    with (
        tempfile.TemporaryDirectory(dir=given.dir) as name,
        throttled_disk(Path(name), nbytes + (128 << 20)) as disk,
        ExitStack() as stack,
    ):
        print(f"{given.mb} MB, {SHARE} % in memory, {LENDERS} lenders; {load()}")
        print(f"{disk.name}: {disk.iops():,.0f} random reads of 4 KiB per second", flush=True)
        shape = Given(nbytes, new_secret())
        group = stack.enter_context(EvictingLenders(LENDERS, shape.secret, SLAB, nbytes // SLAB))
        quiet_losses = without_event(group, disk, shape)
        random_losses = [kill_one(group, disk, shape, is_busiest=False) for _ in range(given.runs)]
        print("the busiest:", flush=True)
        busiest_losses = [kill_one(group, disk, shape, is_busiest=True) for _ in range(BUSIEST)]
        loss, times, mapped = evict_each_second(group, disk, shape)
    report(
        "remote_memory_failures",
        f"What failed lenders and evictions cost a program with {SHARE} % of {given.mb} MB in "
        f"memory, {LENDERS} lenders (peer: the paper's VoltDB)",
        [
            _lost(NO_EVENT, quiet_losses, ""),
            _lost(f"{LOST}a random lender is killed", random_losses, "34.5 %"),
            _lost(f"{LOST}the busiest lender is killed", busiest_losses, "58.3 %"),
            _lost(f"{LOST}a slab of {SLAB >> 20} MiB is evicted per second", [loss], "2.3 %"),
            _took("map a slab", mapped, "54.25 ms"),
            _took("evict a slab, until its memory is free", times, "0.36 ms"),
        ],
        plot=False,
    )


def _lost(name: str, losses: list[float], paper: str) -> Figure:
    """Throughput; the ratio is what is left."""
    median, count = statistics.median(losses), len(losses)
    spread = f" ({100 * min(losses):.0f} to {100 * max(losses):.0f} %, {count} runs)"
    measured = f"{100 * median:.1f} %{spread if count > 1 else ''}"
    return Figure(name, measured, paper, round(1 - median, 3))


def _took(name: str, times: list[float], paper: str) -> Figure:
    """The median."""
    middle_ms, most_ms = 1e3 * statistics.median(times), 1e3 * max(times)
    measured = f"{middle_ms:.2f} ms (most {most_ms:.1f}, {len(times)} times)"
    return Figure(f"time: {name}", measured, paper)


if __name__ == "__main__":
    main()
