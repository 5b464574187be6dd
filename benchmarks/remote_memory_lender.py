"""A program grows on a machine that lends its memory (figure 2.17, table 2.1).

    python benchmarks/remote_memory_lender.py [--mb 640] [--seconds 41] [--dir .]

A control group is the machine: it has a lender, whose slabs are all mapped at first, and a
memcached that grows with the mix ETC under load. Prints every few seconds what memcached uses, what
is lent, what is free, requests per second and the 99th percentile of their latency; first the same
without a lender. Takes two minutes; the results are in results/remote_memory_lender.json. Needs
Linux, root, control groups of version 1, fio and memcached.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from support.block_load import transfer
from support.figures import Figure, report
from support.hosts import unwind_when_terminated
from support.memcached_load import ETC, Measured, MemcachedLoad
from support.memory_processes import LenderProcess, device_process, lender_processes, load
from support.paged_programs import until_connected
from support.swap_space import MemoryGroup, memory_group
from support.throttled_disk import is_measurable

SLAB = 8 << 20
HEAD_ROOM_SHARE, GROWN_SHARE = 0.2, 0.6
PRINTED = 5
TITLE = (
    "A memcached that grows on a machine that lends its memory (measured) and on one that does not "
    "(peer)"
)


@dataclass(frozen=True)
class Second:
    """`used_mb`: by the program."""

    used_mb: int
    lent_mb: int
    free_mb: int
    clients: Measured

    @property
    def cells(self) -> dict[str, str]:
        """By title."""
        return {
            "used by programs, MB": f"{self.used_mb}",
            "lent, MB": f"{self.lent_mb}",
            "free, MB": f"{self.free_mb}",
            "requests per second": f"{self.clients.ops_s:,.0f}",
            "p99, µs": f"{self.clients.p99_us:,.0f}",
        }


def grow(
    group: MemoryGroup, folder: Path, nbytes: int, seconds: int, lender: LenderProcess | None
) -> list[Second]:
    """memcached grows for this time; by second."""
    path = folder / "memcached.sock"
    server = group.start(["memcached", "-u", "root", "-s", path, "-m", "4096", "-t", "2"])
    grown_bytes = round(nbytes * GROWN_SHARE)
    growing = MemcachedLoad(path, ETC, round(grown_bytes / ETC.bytes_per_item()))
    clients = MemcachedLoad(path, ETC, 20_000)
    before_bytes = group.used_bytes()
    found = list[Second]()
    try:
        until_connected(path)
        clients.fill()
        filler = threading.Thread(target=growing.fill, args=(growing.pause_s(0.8 * seconds),))
        filler.start()
        for second in range(seconds):
            measured = clients.run(1.0)
            used_bytes = group.used_bytes()
            lent_bytes = 0
            if lender is not None:
                view = lender.view()
                lent_bytes = (view.mapped_slabs + view.free_slabs) * view.slab_bytes
            others = used_bytes - (before_bytes if lender is None else lent_bytes)
            found.append(
                Second(others >> 20, lent_bytes >> 20, (nbytes - used_bytes) >> 20, measured)
            )
            if second % PRINTED == 0:
                cells = "".join(f"{cell:>10}" for cell in found[-1].cells.values())
                print(f"{second:>4} s{cells}", flush=True)
        filler.join()
    finally:
        server.kill()
        server.wait()
        path.unlink()
    return found


def medians(found: Sequence[Second]) -> Measured:
    """Over the seconds."""
    clients = [each.clients for each in found]
    return Measured(
        statistics.median(each.ops_s for each in clients),
        statistics.median(each.median_us for each in clients),
        statistics.median(each.p99_us for each in clients),
    )


def figures_of(with_lender: Sequence[Second], without: Sequence[Second]) -> list[Figure]:
    """The medians with their aims, then every few seconds with the lender."""
    ours, theirs = medians(with_lender), medians(without)
    figures = [
        Figure(
            "median of requests per second",
            *(f"{ours.ops_s:,.0f}", f"{theirs.ops_s:,.0f}"),
            *(round(ours.ops_s / theirs.ops_s, 3), 0.98),
        ),
        Figure(
            "median of p99",
            *(f"{ours.p99_us:,.0f} µs", f"{theirs.p99_us:,.0f} µs"),
            *(round(ours.p99_us / theirs.p99_us, 3), 1.04),
            at_least=False,
        ),
    ]
    for second in range(0, len(with_lender), PRINTED):
        figures += [
            Figure(f"{title}: second {second}", cell)
            for title, cell in with_lender[second].cells.items()
        ]
    return figures


def main() -> None:
    """See the module."""
    unwind_when_terminated()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=640)
    parser.add_argument("--seconds", type=int, default=41)
    parser.add_argument("--dir", type=Path, default=Path())
    given = parser.parse_args()
    if not is_measurable("memcached"):
        return
    nbytes = given.mb << 20
    head_room = str(round(nbytes * HEAD_ROOM_SHARE))
    with tempfile.TemporaryDirectory(dir=given.dir) as name, ExitStack() as stack:
        folder = Path(name).absolute()
        group = stack.enter_context(memory_group("lender"))
        (group.folder / "memory.limit_in_bytes").write_text(str(nbytes))
        print(f"a machine of {given.mb} MB; {load()}")
        print(f"{'':6}{'used':>10}{'lent':>10}{'free':>10}{'requests/s':>10}{'p99 us':>10}")
        without = grow(group, folder, nbytes, given.seconds, None)
        lender = stack.enter_context(
            lender_processes(
                *(folder, 1, nbytes, SLAB, "--head-room", head_room),
                entering=lambda _, command: group.entering(command),
            )
        )[0]
        size_bytes = lender.view().free_slabs * SLAB
        device = stack.enter_context(
            device_process(folder, size_bytes, SLAB, [lender.address], folder / "backup")
        )
        while lender.view().mapped_slabs * SLAB < size_bytes - 2 * SLAB:
            transfer(device.uri, "1m", "write", 4, None, size_bytes)
        with_lender = grow(group, folder, nbytes, given.seconds, lender)
        view = lender.view()
        evicted = f"{view.evicted} of {SLAB >> 20} MiB, {view.revoked} revoked"
    figures = [*figures_of(with_lender, without), Figure("evicted slabs", evicted)]
    report("remote_memory_lender", TITLE, figures, plot=False)


if __name__ == "__main__":
    main()
