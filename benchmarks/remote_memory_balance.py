"""Memory use of the hosts of a testbed with and without remote memory (figures 2.18 and 2.19).

    python benchmarks/remote_memory_balance.py [--hosts 8] [--containers 24] [--mb 64] [--seed 1]

Half of the containers have all their data in memory, 30 % have 75 % and 20 % have 50 % of them;
they are placed at random. What does not fit is at lenders of the other hosts, or else on a disk
with 4,000 IOPS and 800 MB/s, 500 and 100 per host. Memory is what hosts use beyond the
interpreters. Takes two minutes; the results are in results/remote_memory_balance.json. Needs
Linux, root, fio and control groups of version 1.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from motet.remote_memory.device.memory_folder import MemoryFolder
from motet.testbed.hosts import Blueprint, Host, Limits, equal_machines
from motet.testbed.layout import HostLayout
from motet.testbed.machine import require_testbed_machine
from motet.testbed.testbed import Testbed
from support.figures import Figure, report
from support.hosts import unwind_when_terminated
from support.memory_processes import lender_processes, load
from support.swap_space import MemoryGroup
from support.throttled_disk import Disk, is_measurable, throttled_disk

PROGRAM = Path(__file__).parent / "support" / "container_program.py"
MACHINE, SLAB = 2 << 30, 8 << 20
SECONDS = 5
IOPS, MB_S = 4000, 800
"""Of the disks of all hosts together."""
SHARES = ((100, 0.5), (75, 0.3), (50, 0.2))
TITLE = "Memory of the hosts of a testbed with remote memory (measured) and with a disk (peer)"


@dataclass(frozen=True)
class Container:
    """`host`: its number."""

    share: int
    host: int


@dataclass(frozen=True)
class Result:
    """`used_mb`: of each host. `speeds`: passes per second of the containers with a share."""

    used_mb: Sequence[float]
    speeds: dict[int, list[float]]

    @property
    def most_by_median(self) -> float:
        """The balance of the hosts."""
        return max(self.used_mb) / statistics.median(self.used_mb)

    @property
    def most_by_least(self) -> float:
        """The same."""
        return max(self.used_mb) / max(min(self.used_mb), 1.0)

    def speed(self, share: int) -> float:
        """Of the median container."""
        return statistics.median(self.speeds[share])

    def line(self, title: str) -> str:
        """Balance and speed."""
        most, least = max(self.used_mb), max(min(self.used_mb), 1.0)
        middle = statistics.median(self.used_mb)
        speeds = "".join(f"{self.speed(share):>9,.0f}" for share in self.speeds)
        return (
            f"{title:16}{statistics.mean(self.used_mb):>7.0f}{least:>7.0f}{middle:>8.0f}{most:>7.0f}"
            f"{self.most_by_median:>12.2f}{self.most_by_least:>9.1f}{speeds}"
        )


def placed(count: int, hosts: int, seed: int) -> list[Container]:
    """At random."""
    rng = random.Random(seed)
    shares = [share for share, part in SHARES for _ in range(round(count * part))]
    return [Container(share, rng.randrange(hosts)) for share in shares]


class Cluster:
    """Hosts without network limits."""

    def __init__(self, hosts: int, folder: Path, stack: ExitStack) -> None:
        self._bed = Testbed(HostLayout(f"mem{os.getpid() % 10**6}"), require_testbed_machine())
        self._folder = folder
        machines = equal_machines(hosts, Limits(memory_bytes=MACHINE))
        self._bed.up(Blueprint(self._bed.layout.name, machines, with_ray=False))
        stack.callback(self._bed.down)
        self._hosts: Sequence[Host] = machines

    def run(
        self, containers: Sequence[Container], mb: int, disk: Disk, *, is_remote: bool
    ) -> Result:
        """All containers at a time; the disk has what is in no memory."""
        with ExitStack() as stack:
            addresses = list[str]()
            for host in self._hosts if is_remote else ():
                addresses += self._lender(host, stack)
            programs = [self._started(each, mb, disk, addresses) for each in containers]
            _answers(programs)
            before = self._used()
            _go_on(programs)
            _answers(programs)
            used = [
                (after - idle) / (1 << 20) for after, idle in zip(self._used(), before, strict=True)
            ]
            _go_on(programs)
            speeds = defaultdict[int, list[float]](list)
            for container, line in zip(containers, _answers(programs), strict=True):
                speeds[container.share].append(float(line))
            _go_on(programs)
            for each in programs:
                each.wait()
            return Result(used, dict(speeds))

    def _lender(self, host: Host, stack: ExitStack) -> list[str]:
        place = self._folder / host.name
        place.mkdir(exist_ok=True)
        address = self._bed.layout.address_of(host)
        lenders = stack.enter_context(
            lender_processes(
                *(place, 1, MACHINE // 4, SLAB, "--host", address),
                entering=lambda _, command: self._bed.entering(host.name, command)[0],
                secret=self._folder / "secret",
            )
        )
        return [lender.address for lender in lenders]

    def _started(
        self, container: Container, mb: int, disk: Disk, addresses: Sequence[str]
    ) -> subprocess.Popen[str]:
        host = self._hosts[container.host]
        own = self._bed.layout.address_of(host)
        others = [each for each in addresses if not each.startswith(f"{own}:")]
        secret = self._folder / "secret" / "secret"
        words = (mb, container.share, secret, disk.path, SECONDS, *others)
        command = [sys.executable, str(PROGRAM), *map(str, words)]
        return subprocess.Popen(
            self._bed.entering(host.name, command)[0],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def _used(self) -> list[int]:
        """Of each host, without what the page cache has."""
        folders = [self._bed.groups.folders(self._bed.layout.label_of(it)) for it in self._hosts]
        return [MemoryGroup(_memory(each)).used_bytes() for each in folders]


def _memory(folders: Sequence[Path]) -> Path:
    return next(each for each in folders if (each / "memory.stat").exists())


def _answers(programs: Sequence[subprocess.Popen[str]]) -> list[str]:
    found = []
    for each in programs:
        assert each.stdout is not None
        line = each.stdout.readline()
        if not line:
            raise SystemExit("a container has ended; see its messages above")
        found.append(line)
    return found


def _go_on(programs: Sequence[subprocess.Popen[str]]) -> None:
    for each in programs:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()


def main() -> None:
    """See the module."""
    unwind_when_terminated()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=8)
    parser.add_argument("--containers", type=int, default=24)
    parser.add_argument("--mb", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dir", type=Path, default=Path())
    given = parser.parse_args()
    if not is_measurable():
        return
    containers = placed(given.containers, given.hosts, given.seed)
    with tempfile.TemporaryDirectory(dir=given.dir) as name, ExitStack() as stack:
        folder = Path(name).absolute()
        cluster = Cluster(given.hosts, folder, stack)
        lender_secret(folder)
        counts = [sum(each.host == host for each in containers) for host in range(given.hosts)]
        print(f"{len(containers)} containers of {given.mb} MB on hosts: {counts}; {load()}")
        speeds = "".join(f"{f'{share} %/s':>9}" for share, _ in SHARES)
        print(
            f"{'MB of hosts':16}{'mean':>7}{'min':>7}{'median':>8}{'max':>7}{'max/median':>12}"
            f"{'max/min':>9}{speeds}"
        )
        size_bytes = (given.mb << 20) * given.containers + (256 << 20)
        disk = stack.enter_context(throttled_disk(folder, size_bytes, IOPS, MB_S))
        found = list[Result]()
        for title, is_remote in (("disk", False), ("remote memory", True)):
            found.append(cluster.run(containers, given.mb, disk, is_remote=is_remote))
            print(found[-1].line(title), flush=True)
    figures = [Figure("containers per host", ", ".join(map(str, counts))), *_figures(*found)]
    report("remote_memory_balance", TITLE, figures, plot=False)


def _figures(disk: Result, remote: Result) -> list[Figure]:
    """The ratio is that of remote memory to the disk."""
    used = statistics.mean(remote.used_mb), statistics.mean(disk.used_mb)
    pairs = {
        "max / median of the hosts": (remote.most_by_median, disk.most_by_median, ".2f"),
        "max / min of the hosts": (remote.most_by_least, disk.most_by_least, ".1f"),
        "mean of a host, MB": (*used, ".0f"),
    }
    for share, _ in SHARES:
        speeds = remote.speed(share), disk.speed(share)
        pairs[f"passes per second with {share} %"] = (*speeds, ".1f")
    return [
        Figure(name, f"{ours:{form}}", f"{theirs:{form}}", round(ours / theirs, 3))
        for name, (ours, theirs, form) in pairs.items()
    ]


def lender_secret(folder: Path) -> None:
    """One for all lenders and containers."""
    MemoryFolder(folder / "secret").secret()


if __name__ == "__main__":
    main()
