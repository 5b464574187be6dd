"""Unmodified programs with 100, 75 and 50 % of their memory: swap on remote memory against a disk.

    python benchmarks/remote_memory_programs.py [--mb 256] [--seconds 4] [--dir .] [--only NAME ...]

Each program is filled, its memory is measured, and then its group gets 75 and 50 % of that. Swap
space is a device of remote memory, with a lender on this machine and the backup on a throttled
disk, or a file on that disk. Prints requests per second and the 99th percentile of their latency,
and how often the disk can be read, measured in this run. Needs Linux, root, control groups of
version 1, fio, libnbd-bin, and of redis-server, memcached and postgresql those that are measured
(Debian packages).
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.hosts import unwind_when_terminated
from support.memcached_load import Measured
from support.memory_processes import LenderProcess, device_process, lender_processes, load
from support.paged_programs import PROGRAMS, PagedProgram
from support.swap_space import memory_group, swap_on_device, swap_on_disk
from support.throttled_disk import Disk, is_measurable, throttled_disk

SLAB = 16 << 20
SHARES = (100, 75, 50)
WARM_UP_S = 3.0


@contextmanager
def remote_swap(
    folder: Path, size_bytes: int, lenders: list[LenderProcess], disk: Disk
) -> Iterator[None]:
    """Swap space whose backup is on the disk."""
    addresses = [each.address for each in lenders]
    with (
        device_process(folder, size_bytes, SLAB, addresses, disk.path / "backup") as device,
        swap_on_device(device, folder),
    ):
        yield
        view = device.view()
        total = max(view.read_remote_pages + view.read_local_pages, 1)
        print(f"    {100 * view.read_remote_pages / total:.1f} % of {total:,} pages read remotely")


def measure(program: PagedProgram, folder: Path, nbytes: int, seconds: float) -> list[Measured]:
    """By share of the memory."""
    found = []
    with memory_group("programs") as group, program.start(group, folder, nbytes) as run:
        run(WARM_UP_S)
        used_bytes = group.used_bytes()
        for share in SHARES:
            if share < 100:
                group.limit(used_bytes * share // 100)
                run(WARM_UP_S)
            found.append(run(seconds))
    return found


def main() -> None:
    """See the module."""
    unwind_when_terminated()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--dir", type=Path, default=Path())
    parser.add_argument("--only", nargs="*", default=[""], help="beginnings of names")
    given = parser.parse_args()
    if not is_measurable("nbdfuse", "redis-server", "memcached"):
        return
    chosen = [each for each in PROGRAMS if each.name.startswith(tuple(given.only))]
    nbytes = given.mb << 20
    size_bytes = 2 * nbytes
    with (
        tempfile.TemporaryDirectory(dir=given.dir) as name,
        throttled_disk(Path(name), size_bytes + (256 << 20)) as disk,
        lender_processes(Path(name), 1, size_bytes + SLAB, SLAB) as lenders,
    ):
        folder = Path(name).absolute()
        folder.chmod(0o755)
        print(f"about {given.mb} MB; {load()}")
        print(f"{disk.name}: {disk.iops():,.0f} random reads of 4 KiB per second")
        spaces = {
            "disk": lambda: swap_on_disk(disk, size_bytes),
            "remote": lambda: remote_swap(folder, size_bytes, lenders, disk),
        }
        for program in chosen:
            for title, space in spaces.items():
                with space():
                    found = measure(program, folder, nbytes, given.seconds)
                for share, each in zip(SHARES, found, strict=True):
                    print(
                        f"{program.name:24}{title:>8}{share:>5} %{each.ops_s:>10,.0f}/s"
                        f"{found[0].ops_s / each.ops_s:>8.2f}x slower, p99 {each.p99_us:>10,.0f} us"
                        f", median {each.median_us:>8,.0f} us",
                        flush=True,
                    )
        print(load())


if __name__ == "__main__":
    main()
