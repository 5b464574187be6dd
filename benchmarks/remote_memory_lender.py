"""A program grows on a machine that lends its memory (figure 2.17, table 2.1).

    python benchmarks/remote_memory_lender.py [--mb 640] [--seconds 45] [--dir .]

A control group is the machine: it has a lender, whose slabs are all mapped at first, and a
memcached that grows with the mix ETC under load. Prints every few seconds what memcached uses, what
is lent, what is free, requests per second and the 99th percentile of their latency; then the same
without a lender. Needs Linux, root, control groups of version 1, fio and memcached.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from support.block_load import transfer
from support.hosts import unwind_when_terminated
from support.memcached_load import ETC, Measured, MemcachedLoad
from support.memory_processes import LenderProcess, device_process, lender_processes, load
from support.paged_programs import until_connected
from support.swap_space import MemoryGroup, memory_group
from support.throttled_disk import is_measurable

SLAB = 8 << 20
HEAD_ROOM_SHARE, GROWN_SHARE = 0.2, 0.6
PRINTED = 5


def grow(
    group: MemoryGroup, folder: Path, nbytes: int, seconds: int, lender: LenderProcess | None
) -> list[Measured]:
    """memcached grows for this time; what its clients see, by second."""
    path = folder / "memcached.sock"
    server = group.start(["memcached", "-u", "root", "-s", path, "-m", "4096", "-t", "2"])
    grown_bytes = round(nbytes * GROWN_SHARE)
    growing = MemcachedLoad(path, ETC, round(grown_bytes / ETC.bytes_per_item()))
    clients = MemcachedLoad(path, ETC, 20_000)
    before_bytes = group.used_bytes()
    found = []
    try:
        until_connected(path)
        clients.fill()
        filler = threading.Thread(target=growing.fill, args=(growing.pause_s(0.8 * seconds),))
        filler.start()
        for second in range(seconds):
            found.append(clients.run(1.0))
            used_bytes = group.used_bytes()
            lent_bytes = 0
            if lender is not None:
                view = lender.view()
                lent_bytes = (view.mapped_slabs + view.free_slabs) * view.slab_bytes
            if second % PRINTED == 0:
                others = used_bytes - (before_bytes if lender is None else lent_bytes)
                print(
                    f"{second:>4} s{others >> 20:>8}{lent_bytes >> 20:>8}"
                    f"{(nbytes - used_bytes) >> 20:>8}{found[-1].ops_s:>10,.0f}"
                    f"{found[-1].p99_us:>8,.0f}",
                    flush=True,
                )
        filler.join()
    finally:
        server.kill()
        server.wait()
        path.unlink()
    return found


def summary(title: str, found: Sequence[Measured]) -> str:
    """Medians over the seconds."""
    ops_s = statistics.median(each.ops_s for each in found)
    median_us = statistics.median(each.median_us for each in found)
    p99_us = statistics.median(each.p99_us for each in found)
    return f"{title:16}{ops_s:>10,.0f}/s, median {median_us:,.0f} us, p99 {p99_us:,.0f} us"


def main() -> None:
    """See the module."""
    unwind_when_terminated()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=640)
    parser.add_argument("--seconds", type=int, default=45)
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
        print(f"{'':6}{'used':>8}{'lent':>8}{'free':>8}{'requests/s':>10}{'p99 us':>8}")
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
        print(summary("without lender", without))
        print(summary("with lender", with_lender))
        view = lender.view()
        print(f"{view.evicted} slabs evicted, {view.revoked} revoked; {load()}")


if __name__ == "__main__":
    main()
