"""Processes on the hosts of one testbed: commands, and the Ray node of each host."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from motet.domain.errors import BadInput, JobFailed
from motet.testbed import commands, machine
from motet.testbed.cgroups import ControlGroups
from motet.testbed.hosts import FRONT_HOST, Host
from motet.testbed.layout import HostLayout

RAY_START_TIMEOUT_S = 180.0
_SHOWN_LOG_LINES = 3


@dataclass(frozen=True)
class HostProcesses:
    """Starts, finds and kills processes on hosts."""

    layout: HostLayout
    groups: ControlGroups

    def command_on(self, host: Host, command: Sequence[str]) -> list[str]:
        """Return a command that executes `command` on a host."""
        files = self.groups.members_files(self.layout.label_of(host))
        return commands.entering(self.layout, host, files, command)

    def environment(self) -> dict[str, str]:
        """Return the environment for commands on hosts."""
        return commands.environment(self.layout, os.environ)

    def kill_all(self, hosts: Sequence[Host]) -> None:
        """Kill all processes of hosts. Raises MotetError."""
        for host in hosts:
            label = self.layout.label_of(host)
            machine.kill_processes(self.groups.members_files(label), [label])

    def runs_ray(self, host: Host) -> bool:
        """Whether the host's Ray node runs."""
        return bool(self._raylets(host))

    def start_ray(self, hosts: Sequence[Host], object_store_bytes: int) -> None:
        """Start the Ray nodes of several hosts in parallel. Raises JobFailed."""
        started = []
        for host in hosts:
            shutil.rmtree(self.layout.ray_folder_of(host))
            self.layout.ray_folder_of(host).mkdir()
            command = commands.start_ray(self.layout, host, object_store_bytes)
            started.append(self._start(host, command, self.layout.log_file_of(host)))
        for process, log in started:
            _await_success(process, log, "Ray did not start")

    def drain_ray(self, hosts: Sequence[Host], notice_s: int) -> None:
        """Announce to Ray that hosts end in `notice_s` seconds.

        Raises BadInput for a host without a Ray node, JobFailed.
        """
        nodes = [self._ray_node(host) for host in hosts]
        started = []
        for host, node in zip(hosts, nodes, strict=True):
            command = commands.drain_ray(self.layout, node, notice_s)
            started.append(self._start(FRONT_HOST, command, self.layout.log_file_of(host)))
        for process, log in started:
            _await_success(process, log, "Ray did not accept the notice")

    def _start(
        self, host: Host, command: Sequence[str], log: Path
    ) -> tuple[subprocess.Popen[bytes], Path]:
        entering = self.command_on(host, command)
        return machine.start_process(entering, self.environment(), log), log

    def _raylets(self, host: Host) -> list[int]:
        numbers = machine.members(self.groups.members_files(self.layout.label_of(host)))
        return [it for it in numbers if machine.program_of(it) == commands.RAYLET]

    def _ray_node(self, host: Host) -> str:
        for raylet in self._raylets(host):
            if node := commands.node_in(machine.arguments_of(raylet)):
                return node
        raise BadInput(
            f"{host.name}: no Ray runs there, so the host cannot be drained; "
            f"start it with 'motet testbed start {host.name}'"
        )


def _await_success(process: subprocess.Popen[bytes], log: Path, complaint: str) -> None:
    try:
        code = process.wait(RAY_START_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise JobFailed(f"{complaint} within {RAY_START_TIMEOUT_S:.0f} s: {_end_of(log)}") from None
    if code == -signal.SIGKILL:
        raise JobFailed(
            "Ray was killed while it started, probably because memory was short: give each host "
            "--memory 512mb or more, and the machine enough for all of them"
        )
    if code:
        raise JobFailed(f"{complaint} (exit status {code}): {_end_of(log)}")


def _end_of(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return " | ".join(line.strip() for line in lines[-_SHOWN_LOG_LINES:]) or "its log is empty"
