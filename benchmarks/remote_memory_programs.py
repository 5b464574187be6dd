"""Unmodified programs with 100, 75 and 50 % of their memory: swap on remote memory against a disk.

    python benchmarks/remote_memory_programs.py [--mb 128] [--seconds 3] [--dir .] [--only NAME ...]
                                                [--doors served nbdfuse]

Each program is filled, its memory is measured, and then its group gets 75 and 50 % of that. Swap
space is a file on a throttled disk, or a device of remote memory with a lender on this machine and
the backup on that disk, through one or both doors: `served`, as `motet memory device up --swap`
sets it up, or `nbdfuse`, a client of the network block device. Prints requests per second and the
99th percentile of their latency, and how often the disk can be read, measured in this run. Takes
five minutes for all programs; the results are then in results/remote_memory_programs.json. Needs
Linux, root, control groups of version 1, fio, redis-server, memcached, postgresql and, for nbdfuse,
libnbd-bin (Debian packages).
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from motet.remote_memory.borrower.borrowed_memory import DeviceSettings
from motet.remote_memory.core.device_geometry import DeviceGeometry
from motet.remote_memory.wire.memory_views import DeviceView
from support.figures import Figure, report
from support.hosts import unwind_when_terminated
from support.memcached_load import Measured
from support.memory_figures import PROGRAM_MB
from support.memory_processes import (
    PENDING,
    DeviceProcess,
    LenderProcess,
    device_process,
    lender_processes,
    load,
)
from support.paged_programs import PROGRAMS, PagedProgram
from support.swap_space import memory_group, swap_device, swap_on_disk, swap_through_nbdfuse
from support.throttled_disk import Disk, is_measurable, throttled_disk

SLAB = 16 << 20
SHARES = (100, 75, 50)
WARM_UP_S = 2.0
AIM = 5.0
TITLE = (
    "Programs with less memory than they use, swap space on remote memory (measured), and the same "
    "programs on the limited disk or with all of their memory (peer): requests per second, p99"
)
DOORS = ("served", "nbdfuse")


@dataclass
class SwapSpaces:
    """Where programs are paged out to. `read_remotely`: of the last space, the share of pages."""

    folder: Path
    size_bytes: int
    lenders: list[LenderProcess]
    disk: Disk
    read_remotely: str = ""

    @contextmanager
    def opened(self, title: str) -> Iterator[None]:
        """The space on the disk, or through one of the doors."""
        if title == "disk":
            with swap_on_disk(self.disk, self.size_bytes):
                yield
        else:
            with self._served() if title == "served" else self._through_nbdfuse() as device:
                before = device.view()  # Pages that the kernel looks at first have no content.
                yield
                self.read_remotely = _read_remotely(before, device.view())

    @contextmanager
    def _served(self) -> Iterator[DeviceProcess]:
        geometry = DeviceGeometry(self.size_bytes, SLAB)
        settings = DeviceSettings(geometry, self._backup, arena_bytes=PENDING)
        with swap_device(self.folder, settings, self._addresses) as device:
            yield device

    @contextmanager
    def _through_nbdfuse(self) -> Iterator[DeviceProcess]:
        with (
            device_process(
                self.folder, self.size_bytes, SLAB, self._addresses, self._backup
            ) as device,
            swap_through_nbdfuse(device, self.folder),
        ):
            yield device

    @property
    def _backup(self) -> Path:
        return self.disk.path / "backup"

    @property
    def _addresses(self) -> list[str]:
        return [each.address for each in self.lenders]


def _read_remotely(before: DeviceView, after: DeviceView) -> str:
    remote = after.read_remote_pages - before.read_remote_pages
    total = max(remote + after.read_local_pages - before.read_local_pages, 1)
    return f"{100 * remote / total:.1f} % of {total:,} pages"


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


def measured_program(
    program: PagedProgram, spaces: SwapSpaces, titles: list[str], nbytes: int, seconds: float
) -> list[Figure]:
    """With each swap space."""
    by_space, figures = dict[str, list[Measured]](), list[Figure]()
    for title in titles:
        with spaces.opened(title):
            found = by_space[title] = measure(program, spaces.folder, nbytes, seconds)
        for share, each in zip(SHARES, found, strict=True):
            slower = found[0].ops_s / each.ops_s
            print(
                f"{program.name:24}{title:>8}{share:>5} %{each.ops_s:>10,.0f}/s"
                f"{slower:>8.2f}x slower, p99 {each.p99_us:>10,.0f} us"
                f", median {each.median_us:>8,.0f} us",
                flush=True,
            )
            figures.append(_figure(f"{title}, {share} %: {program.name}", each, found[0], slower))
        if title != "disk":
            print(f"    {spaces.read_remotely} read remotely")
            figures.append(Figure(f"{title}, read remotely: {program.name}", spaces.read_remotely))
    disk, half = by_space["disk"][-1], by_space[titles[1]]
    slower = half[0].ops_s / half[-1].ops_s
    figures.append(_figure(f"slower: {program.name}", half[-1], half[0], slower))
    for title in titles[1:]:
        name = "beside the disk" if title == titles[1] else f"{title} beside the disk"
        half = by_space[title]
        ratio = half[-1].ops_s / disk.ops_s
        figures.append(_figure(f"{name}: {program.name}", half[-1], disk, ratio, AIM))
    return figures


def _figure(
    name: str, ours: Measured, theirs: Measured, ratio: float, aim: float | None = None
) -> Figure:
    return Figure(name, _text(ours), _text(theirs), round(ratio, 3), aim)


def _text(found: Measured) -> str:
    return f"{found.ops_s:,.0f}/s, {found.p99_us / 1e3:.3g} ms"


def main() -> None:
    """See the module."""
    unwind_when_terminated()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=PROGRAM_MB)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--dir", type=Path, default=Path())
    parser.add_argument("--only", nargs="*", default=[""], help="beginnings of names")
    parser.add_argument("--doors", nargs="+", choices=DOORS, default=[*DOORS])
    given = parser.parse_args()
    needed = ["redis-server", "memcached", *(["nbdfuse"] if "nbdfuse" in given.doors else [])]
    if not is_measurable(*needed):
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
        iops = f"{disk.iops():,.0f}"
        print(f"{disk.name}: {iops} random reads of 4 KiB per second")
        figures = [Figure(f"reads per second: {disk.name}", iops)]
        spaces = SwapSpaces(folder, size_bytes, lenders, disk)
        for program in chosen:
            titles = ["disk", *given.doors]
            figures += measured_program(program, spaces, titles, nbytes, given.seconds)
    if chosen == [*PROGRAMS]:
        report("remote_memory_programs", TITLE, figures, plot=False)


if __name__ == "__main__":
    main()
