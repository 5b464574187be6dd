"""How much of their CPU quotas and links the hosts of a testbed use."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator, Sequence

import psutil

from motet.testbed.hosts import Host
from motet.testbed.layout import HostLayout
from motet.testbed.machine import members, require_testbed_machine
from motet.testbed.network import DEVICE
from motet.testbed.state import read_state


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

    def _counts(self) -> Iterator[tuple[float, int]]:
        """CPU seconds used and bytes sent, of each host."""
        for host in self._hosts:
            yield self._cpu_s(host), self._sent_bytes(host)

    def _cpu_s(self, host: Host) -> float:
        """Of the processes that run, and of those that they have waited for."""
        total = 0.0
        for process in members(self._groups.members_files(self._layout.label_of(host))):
            with contextlib.suppress(psutil.Error):
                total += sum(psutil.Process(process).cpu_times()[:4])
        return total

    def _sent_bytes(self, host: Host) -> int:
        command = ["ip", "-n", self._layout.label_of(host), "-s", "-j", "link", "show", DEVICE]
        shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return int(json.loads(shown)[0]["stats64"]["tx"]["bytes"])
