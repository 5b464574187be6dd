"""How much of their CPU quotas, links and memory the hosts of a testbed use."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import psutil

from motet.testbed.hosts import Host
from motet.testbed.layout import HostLayout
from motet.testbed.machine import members, require_testbed_machine
from motet.testbed.state import read_state

_OF_PROCESSES = "total_rss", "total_shmem", "anon"
EVERY_S = 2.0
"""Between samples of a trace."""


@dataclass(frozen=True)
class UsagePoint:
    """Fractions of CPU and outgoing link in the seconds until `at_s`, means over hosts."""

    at_s: float
    cpu: float
    network: float


class HostUsage:
    """Counts from its making on."""

    def __init__(self, name: str, numbers: Sequence[int] | None = None) -> None:
        """`numbers`: of the hosts that count; None: all."""
        self._layout = HostLayout(name)
        self._groups = require_testbed_machine()
        machines = read_state(self._layout).blueprint.machines
        self._hosts = machines if numbers is None else [machines[each] for each in numbers]
        self._before = list(self._counts())

    def fractions(self, seconds: float) -> tuple[float, float]:
        """Of CPU and outgoing link, means over hosts."""
        cpu = network = 0.0
        for host, now, before in zip(self._hosts, self._counts(), self._before, strict=True):
            cpus, bits_per_s = host.limits.cpus, host.limits.bandwidth_bps
            assert cpus is not None
            assert bits_per_s is not None
            cpu += (now[0] - before[0]) / (cpus * seconds)
            network += 8 * (now[1] - before[1]) / (bits_per_s * seconds)
        return cpu / len(self._hosts), network / len(self._hosts)

    def memory_bytes(self) -> list[int]:
        """In use now, of each host, without its page cache."""
        files = [self._groups.memory_file(self._layout.label_of(host)) for host in self._hosts]
        return [_process_bytes((file.parent / "memory.stat").read_text()) for file in files]

    def _counts(self) -> Iterator[tuple[float, int]]:
        """CPU seconds used and bytes sent, of each host."""
        sent = self._sent_bytes()
        for host in self._hosts:
            yield self._cpu_s(host), sent[self._layout.port_of(host)]

    def _cpu_s(self, host: Host) -> float:
        """Of the processes that run, and of those that they have waited for."""
        total = 0.0
        for process in members(self._groups.members_files(self._layout.label_of(host))):
            with contextlib.suppress(psutil.Error):
                total += sum(psutil.Process(process).cpu_times()[:4])
        return total

    def _sent_bytes(self) -> dict[str, int]:
        """By the port at which the switch receives them."""
        command = ["ip", "-n", self._layout.switch, "-s", "-j", "link", "show"]
        shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return {port["ifname"]: int(port["stats64"]["rx"]["bytes"]) for port in json.loads(shown)}


def _process_bytes(stat: str) -> int:
    """Of both versions of control groups."""
    fields = dict(line.split() for line in stat.splitlines())
    return sum(int(fields.get(name, 0)) for name in _OF_PROCESSES)


class UsageTrace:
    """The use of all hosts over time, and the most memory that each had."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.points: list[UsagePoint] = []
        self.most_bytes: list[int] = []
        self._ends = threading.Event()

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Sample in the meantime."""
        thread = threading.Thread(target=self._run, name="usage")
        thread.start()
        try:
            yield
        finally:
            self._ends.set()
            thread.join()

    def _run(self) -> None:
        began_s = before_s = time.monotonic()
        counted = HostUsage(self._name)
        self.most_bytes = counted.memory_bytes()
        while not self._ends.wait(EVERY_S):
            now_s, latest = time.monotonic(), HostUsage(self._name)
            use = counted.fractions(now_s - before_s)
            self.points.append(UsagePoint(now_s - began_s, *use))
            pairs = zip(self.most_bytes, latest.memory_bytes(), strict=True)
            self.most_bytes = [max(pair) for pair in pairs]
            counted, before_s = latest, now_s
