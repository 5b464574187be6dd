"""The operations on a testbed: `up`, changes to its hosts, and `down`."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from motet.domain.errors import BadInput, MotetError
from motet.testbed import machine, network
from motet.testbed.cgroups import ControlGroups, group_labels
from motet.testbed.host_processes import HostProcesses
from motet.testbed.hosts import FRONT_HOST, Blueprint, Host, Limits
from motet.testbed.layout import HostLayout
from motet.testbed.state import State, is_locked, locked, read_state, write_state

_REMOVALS = 3


def _ignore(text: str) -> None:
    del text


@dataclass(frozen=True)
class Removal:
    """Counts of removed hosts and processes."""

    hosts: int
    processes: int


@dataclass(frozen=True)
class Testbed:
    """One testbed of this machine, whether it exists or not.

    `report_progress` is called with a line per step.
    """

    layout: HostLayout
    groups: ControlGroups
    report_progress: Callable[[str], None] = _ignore

    # -- beginning and end ------------------------------------------------------------------------

    def up(self, blueprint: Blueprint) -> None:
        """Create the testbed, or nothing after an error.

        Raises BadInput if it exists already, MotetError.
        """
        if blueprint.with_ray and find_spec("ray") is None:
            raise BadInput(
                "the hosts of a testbed run Ray; install it with: pip install 'motet[cluster]', "
                "or leave it out with --no-ray"
            )
        self._claim()
        try:
            with locked(self.layout):
                write_state(self.layout, State(blueprint, is_complete=False))
                self._build(blueprint)
                write_state(self.layout, State(blueprint, is_complete=True))
        except BaseException:
            self.report_progress("removing the incomplete testbed")
            self.down()
            raise

    def down(self) -> Removal:
        """Remove all processes, namespaces, control groups and files, if there are any."""
        labels: set[str] = set()
        killed = 0
        with locked(self.layout):
            # A command that a killed `up` started may still create something during the removal.
            for _ in range(_REMOVALS):
                found, count = self._remove()
                labels |= found
                killed += count
                if not found:
                    break
            shutil.rmtree(self.layout.folder, ignore_errors=True)
        with contextlib.suppress(OSError):  # other testbeds have files there
            self.layout.home.rmdir()
        hosts = labels - {self.layout.switch, self.layout.label_of(FRONT_HOST)}
        return Removal(len(hosts), killed)

    def _remove(self) -> tuple[set[str], int]:
        """Remove everything but files; return the labels found and the number of processes."""
        namespaces = self.layout.ours(machine.namespaces())
        groups = self.layout.ours(group_labels(self.groups))
        files = [file for label in groups for file in self.groups.members_files(label)]
        killed = machine.kill_processes(files, namespaces)
        for command in network.removal_commands(namespaces):
            machine.run_command(command)
        machine.remove_groups(it for label in groups for it in self.groups.folders(label))
        return {*namespaces, *groups}, killed

    # -- changes ----------------------------------------------------------------------------------

    def change(self, words: Sequence[str], limits: Limits) -> list[Host]:
        """Set limits of hosts; limits that are None stay. Returns the changed hosts."""
        with locked(self.layout):
            state = read_state(self.layout)
            chosen = state.blueprint.select(words)
            blueprint = state.blueprint.changed(chosen, limits)
            changed = [blueprint.machines[host.number] for host in chosen]
            for host in changed:
                self._limit(host)
            write_state(self.layout, replace(state, blueprint=blueprint))
        return changed

    def give_notice(self, words: Sequence[str], notice_s: int) -> list[Host]:
        """Announce to Ray that hosts end in `notice_s` seconds. The caller kills them.

        Raises BadInput for a host without a Ray node.
        """
        with locked(self.layout):
            chosen = read_state(self.layout).blueprint.select(words)
            self._processes.drain_ray(chosen, notice_s)
        return chosen

    def kill(self, words: Sequence[str], *, silently: bool = False) -> list[Host]:
        """Kill all processes of hosts.

        `silently`: disconnect the hosts first, as in a power failure: peers receive no signal.
        """
        with locked(self.layout):
            chosen = read_state(self.layout).blueprint.select(words)
            if silently:
                self._connect(chosen, is_up=False)
            self._processes.kill_all(chosen)
        return chosen

    def start(self, words: Sequence[str]) -> list[Host]:
        """Connect hosts, and start Ray on those where it does not run."""
        with locked(self.layout):
            blueprint = read_state(self.layout).blueprint
            chosen = blueprint.select(words)
            self._connect(chosen, is_up=True)
            if blueprint.with_ray:
                self._restart_ray(chosen, blueprint.object_store_bytes)
        return chosen

    def partition(self, words: Sequence[str]) -> list[Host]:
        """Disconnect hosts from all others and from the front."""
        return self._set_links(words, is_up=False)

    def heal(self, words: Sequence[str]) -> list[Host]:
        """Connect hosts again."""
        return self._set_links(words, is_up=True)

    # -- commands on hosts ------------------------------------------------------------------------

    def entering(self, word: str, command: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        """Return a command, with its environment, that executes `command` on a host.

        Raises NotFound, BadInput.
        """
        state = read_state(self.layout)
        if not state.is_complete:
            raise BadInput(
                f"testbed {self.layout.name!r} is not complete; if 'motet testbed up' has ended, "
                f"remove it with 'motet testbed down --name {self.layout.name}'"
            )
        host = state.blueprint.find(word)
        return self._processes.command_on(host, command), self._processes.environment()

    # -- parts ------------------------------------------------------------------------------------

    @property
    def _processes(self) -> HostProcesses:
        return HostProcesses(self.layout, self.groups)

    def _claim(self) -> None:
        try:
            self.layout.home.mkdir(mode=0o755, parents=True, exist_ok=True)
            self.layout.folder.mkdir(mode=0o700)
        except FileExistsError:
            raise BadInput(
                f"{self._existing()}; remove it with 'motet testbed down --name "
                f"{self.layout.name}', or choose another --name"
            ) from None

    def _existing(self) -> str:
        name = self.layout.name
        if is_locked(self.layout):
            return f"another command is changing the testbed {name!r}"
        try:
            state = read_state(self.layout)
        except MotetError:  # `up` was killed before it wrote the file, or the file is damaged
            state = None
        if state is None or not state.is_complete:
            return f"an incomplete testbed {name!r} exists, whose 'motet testbed up' did not finish"
        machines = len(state.blueprint.machines)
        return f"a testbed {name!r} of {machines} hosts already exists"

    def _build(self, blueprint: Blueprint) -> None:
        self.report_progress(f"making {len(blueprint.machines)} hosts")
        _write_token(self.layout.token_file)
        self.layout.ray_folder.mkdir()
        machine.write_control_files(self.groups.preparation())
        for command in network.switch_commands(self.layout):
            machine.run_command(command)
        for host in blueprint.hosts:
            self._build_host(host)
        if blueprint.with_ray:
            # Ray would take a minute to start with a fifth of a CPU: set quotas afterwards.
            self.report_progress("starting Ray on the front")
            self._processes.start_ray([FRONT_HOST], blueprint.object_store_bytes)
            self.report_progress(f"starting Ray on {len(blueprint.machines)} hosts")
            self._processes.start_ray(blueprint.machines, blueprint.object_store_bytes)
        for host in blueprint.machines:
            self._limit(host)

    def _build_host(self, host: Host) -> None:
        label = self.layout.label_of(host)
        machine.make_folders([*self.groups.folders(label), self.layout.ray_folder_of(host)])
        memory = Limits(memory_bytes=host.limits.memory_bytes)
        machine.write_control_files(self.groups.limits(label, memory))
        for command in network.host_commands(self.layout, host):
            machine.run_command(command)

    def _limit(self, host: Host) -> None:
        machine.write_control_files(self.groups.limits(self.layout.label_of(host), host.limits))
        for command in network.limit_commands(self.layout, host):
            machine.run_command(command)

    def _restart_ray(self, hosts: Sequence[Host], object_store_bytes: int) -> None:
        """Start Ray where it does not run, without a CPU quota until it has started."""
        dead = [host for host in hosts if not self._processes.runs_ray(host)]
        self._processes.kill_all(dead)  # processes that a failed Ray node left behind
        for host in dead:
            self._limit(replace(host, limits=replace(host.limits, cpus=None)))
        try:
            self._processes.start_ray(dead, object_store_bytes)
        finally:
            for host in dead:
                self._limit(host)

    def _set_links(self, words: Sequence[str], *, is_up: bool) -> list[Host]:
        with locked(self.layout):
            chosen = read_state(self.layout).blueprint.select(words)
            self._connect(chosen, is_up=is_up)
        return chosen

    def _connect(self, hosts: Sequence[Host], *, is_up: bool) -> None:
        for host in hosts:
            machine.run_command(network.link_command(self.layout, host, is_up=is_up))


def _write_token(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_hex(32))
