"""Prefetch by Leap's majority trend: hit rates and times of reads of a device, with and without.

    python benchmarks/memory_prefetch.py [--quick]

The results are in results/memory_prefetch.json.

A device reads single pages, as a page fault does, from a lender in another process and from a
backup disk that answers a request in 3 ms (a rotating disk, or one limited to 300 requests per
second; modelled by a pause). `RemoteBuffer` reads blocks of 1 MiB from the lender. Coverage: share
of the reads that were read ahead. Hit rate: share of what was read ahead that was used.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection as Pipe
from pathlib import Path

import numpy as np

from motet.remote_memory.borrower.backup_file import BackupFile
from motet.remote_memory.borrower.borrowed_memory import BorrowedMemory, DeviceSettings
from motet.remote_memory.borrower.prefetching_store import PrefetchingStore
from motet.remote_memory.buffer.block_cache import BLOCK_BYTES, BlockCache
from motet.remote_memory.core.device_geometry import PAGE_BYTES, DeviceGeometry
from motet.remote_memory.core.head_room import PoolLimits
from motet.remote_memory.lender.lender import Lender, LenderSettings
from motet.transport import Endpoint, new_secret, use_short_switch_interval
from support.figures import Figure, parser, report

SLAB_BYTES = 16 << 20
SLABS = 8
PAGES = SLABS * SLAB_BYTES // PAGE_BYTES
BLOCKS = SLABS * SLAB_BYTES // BLOCK_BYTES
DISK_S = 0.003


def workloads(places: int, reads: int) -> Iterator[tuple[str, list[int]]]:
    """Places of single reads."""
    rng = np.random.default_rng(0)
    steps = np.arange(reads)
    yield "sequential", (steps % places).tolist()
    yield "stride of 7", (7 * steps % places).tolist()
    yield "backwards", (places - 1 - steps % places).tolist()
    streams = 1 + steps // 2 + (steps % 2) * (places // 2)
    yield "two streams, alternating", (streams % places).tolist()
    noise = np.where(steps % 5 == 4, rng.integers(places, size=reads), steps)
    yield "sequential, one in five random", (noise % places).tolist()
    yield "random", rng.integers(places, size=reads).tolist()


def _serve(secret: bytes, pipe: Pipe) -> None:
    use_short_switch_interval()
    limits = PoolLimits(1 << 40, 0, SLAB_BYTES, SLABS)
    with Lender(LenderSettings(limits), secret, lambda: 1 << 40) as lender:
        pipe.send(lender.endpoint.encode())
        pipe.recv()


@contextmanager
def lender(secret: bytes) -> Iterator[Endpoint]:
    """In a process of its own."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(secret, there))
    process.start()
    yield Endpoint.decode(here.recv())
    here.send(None)
    process.join()


@contextmanager
def device(
    folder: Path, lenders: list[Endpoint], secret: bytes, *, prefetch: bool
) -> Iterator[BorrowedMemory]:
    """All of its pages are written, and remote if there is a lender."""
    geometry = DeviceGeometry(SLABS * SLAB_BYTES, SLAB_BYTES)
    settings = DeviceSettings(geometry, folder / "backup", prefetch=prefetch)
    with BorrowedMemory(settings, lenders, secret, "device") as memory:
        while memory.view().away:
            time.sleep(0.01)
        for slab in range(SLABS if lenders else 0):
            memory.map_slab(slab)
        data = memoryview(np.random.default_rng(1).bytes(BLOCK_BYTES))
        for block in range(BLOCKS):
            memory.store.begin_write(block * BLOCK_BYTES, data).finish()
        memory.store.flush()
        yield memory


class SlowDisk:
    """Reads of a backup file that answer after DISK_S."""

    def __init__(self) -> None:
        self._read = BackupFile.read

    def __enter__(self) -> None:
        read = self._read

        def slow(file: BackupFile, offset: int, into: memoryview) -> None:
            time.sleep(DISK_S)
            read(file, offset, into)

        BackupFile.read = slow  # type: ignore[method-assign]

    def __exit__(self, *exc_info: object) -> None:
        BackupFile.read = self._read  # type: ignore[method-assign]


def timed_reads(memory: BorrowedMemory, places: list[int]) -> tuple[float, float, float, float]:
    """Microseconds and CPU microseconds per read, coverage, hit rate."""
    store, page = memory.store, memoryview(bytearray(PAGE_BYTES))
    used, issued = (store.used, store.issued) if isinstance(store, PrefetchingStore) else (0, 0)
    cpu_s, began_s = time.process_time(), time.perf_counter()
    for place in places:
        store.begin_read(place * PAGE_BYTES, page).finish()
    taken_s, cpu_s = time.perf_counter() - began_s, time.process_time() - cpu_s
    if isinstance(store, PrefetchingStore):
        used, issued = store.used - used, store.issued - issued
    count = len(places)
    return 1e6 * taken_s / count, 1e6 * cpu_s / count, used / count, used / max(issued, 1)


def device_figures(
    name: str, folder: Path, lenders: list[Endpoint], secret: bytes, reads: int
) -> list[Figure]:
    """Each workload with prefetch beside the same without."""
    taken = {}
    for prefetch in (False, True):
        with device(folder, lenders, secret, prefetch=prefetch) as memory:
            if lenders:
                for workload, places in workloads(PAGES, reads):
                    taken[workload, prefetch] = timed_reads(memory, places)
            else:
                with SlowDisk():
                    for workload, places in workloads(PAGES, reads):
                        taken[workload, prefetch] = timed_reads(memory, places)
    figures = []
    for workload, _ in workloads(PAGES, 1):
        (plain_us, plain_cpu, *_), (us, cpu, coverage, rate) = (
            taken[workload, prefetch] for prefetch in (False, True)
        )
        print(
            f"{name}, {workload}: {plain_us:.0f} -> {us:.0f} us, CPU {plain_cpu:.0f} -> {cpu:.0f} "
            f"us, coverage {coverage:.1%}, hit rate {rate:.1%}",
            flush=True,
        )
        figures.append(
            Figure(
                f"{name}: {workload}",
                f"{us:.0f} µs, {cpu:.0f} µs CPU, {coverage:.0%}, {rate:.0%}",
                f"{plain_us:.0f} µs, {plain_cpu:.0f} µs CPU",
                plain_us / us,
            )
        )
    return figures


def block_figures(folder: Path, endpoint: Endpoint, secret: bytes, reads: int) -> list[Figure]:
    """Blocks of a buffer with the memory of 16 of them."""
    figures = []
    with device(folder, [endpoint], secret, prefetch=False) as memory:
        row = memoryview(bytearray(PAGE_BYTES))
        for workload, blocks in workloads(BLOCKS, reads):
            taken, caches = [], []
            for prefetch in (False, True):
                cache = BlockCache(memory.store, 16, prefetch=prefetch)
                began_s = time.perf_counter()
                for block in blocks:
                    cache.read(block * BLOCK_BYTES, row)
                taken.append(1e6 * (time.perf_counter() - began_s) / len(blocks))
                cache.drop()
                caches.append(cache)
            plain, ahead = (cache.hits / len(blocks) for cache in caches)
            figures.append(
                Figure(
                    f"buffer: {workload}",
                    f"{taken[1]:.0f} µs, {ahead:.0%} found",
                    f"{taken[0]:.0f} µs, {plain:.0%} found",
                    taken[0] / taken[1],
                )
            )
    return figures


def main() -> None:
    """Measure and report."""
    given = parser(__doc__).parse_args()
    reads, disk_reads, blocks = (1000, 200, 100) if given.quick else (8000, 800, 500)
    use_short_switch_interval()
    secret = new_secret()
    with tempfile.TemporaryDirectory(prefix="motet-") as name:
        folder = Path(name)
        with lender(secret) as endpoint:
            figures = device_figures("lender", folder, [endpoint], secret, reads)
            figures += block_figures(folder, endpoint, secret, blocks)
        figures += device_figures("slow disk", folder, [], secret, disk_reads)
    report("memory_prefetch", "Prefetch: coverage, hit rate; time per read, without it", figures)


if __name__ == "__main__":
    main()
