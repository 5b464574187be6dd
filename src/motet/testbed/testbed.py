"""A testbed's life: `up`, then changes to its hosts, then `down`, which finds its work by names."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from motet.domain.errors import BadInput, JobFailed
from motet.testbed import commands, machine, network
from motet.testbed.cgroups import ControlGroups, group_labels
from motet.testbed.hosts import FRONT_HOST, Blueprint, Host, Limits
from motet.testbed.layout import Layout
from motet.testbed.state import State, locked, read_state, write_state

RAY_START_TIMEOUT_S = 180.0
_SHOWN_LOG_LINES = 3
_REMOVALS = 3


def _nowhere(text: str) -> None:
    del text


@dataclass(frozen=True)
class Removal:
    """What `down` found."""

    hosts: int
    processes: int


@dataclass(frozen=True)
class Testbed:
    """One testbed of this machine, there or not. `say`: told what happens, a line at a time."""

    layout: Layout
    groups: ControlGroups
    say: Callable[[str], None] = _nowhere

    # -- beginning and end ------------------------------------------------------------------------

    def up(self, blueprint: Blueprint) -> None:
        """Build it, all or nothing. Raises BadInput when it is there already, or MotetError."""
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
            self.say("removing what was begun")
            self.down()
            raise

    def down(self) -> Removal:
        """Remove all of it: processes, network, control groups, files. There may be nothing."""
        labels: set[str] = set()
        killed = 0
        with locked(self.layout):
            # A command that a killed `up` had begun may end, and add something, only meanwhile.
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
        """What there is now, but for files: labels, and how many processes were killed."""
        ours = self.layout.ours(machine.namespaces())
        groups = self.layout.ours(group_labels(self.groups))
        files = [file for label in groups for file in self.groups.members_files(label)]
        killed = machine.kill(files, ours)
        for command in network.removal_commands(ours):
            machine.run(command)
        machine.remove_groups(it for label in groups for it in self.groups.folders(label))
        return {*ours, *groups}, killed

    # -- changes ----------------------------------------------------------------------------------

    def change(self, words: Sequence[str], limits: Limits) -> list[Host]:
        """Give hosts other limits from now on; what `limits` leaves open stays. The hosts."""
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
        """Tell Ray that hosts will be taken away in so many seconds; nobody does so here.

        Raises BadInput for a host where no Ray runs.
        """
        with locked(self.layout):
            blueprint = read_state(self.layout).blueprint
            chosen = blueprint.select(words)
            nodes = [self._ray_node(host) for host in chosen]
            started = []
            for host, node in zip(chosen, nodes, strict=True):
                command = commands.drain_ray(self.layout, node, notice_s)
                log = self.layout.log_file_of(host)
                entering = self._entering(FRONT_HOST, command)
                started.append((log, machine.start(entering, self._environment(), log)))
            for log, process in started:
                _await_success(log, process, "Ray did not take the notice")
        return chosen

    def kill(self, words: Sequence[str], *, silently: bool = False) -> list[Host]:
        """Kill all processes of hosts. `silently`: nobody hears of it, as when power fails."""
        with locked(self.layout):
            chosen = read_state(self.layout).blueprint.select(words)
            if silently:
                self._plug(chosen, is_up=False)
            self._kill(chosen)
        return chosen

    def start(self, words: Sequence[str]) -> list[Host]:
        """Plug hosts in, and start Ray on those of them where it does not run."""
        with locked(self.layout):
            blueprint = read_state(self.layout).blueprint
            chosen = blueprint.select(words)
            self._plug(chosen, is_up=True)
            if blueprint.with_ray:
                dead = [host for host in chosen if not self._runs_ray(host)]
                self._kill(dead)  # what a Ray node leaves when it gives up
                for host in dead:
                    self._limit(replace(host, limits=replace(host.limits, cpus=None)))
                try:
                    self._start_ray(dead, blueprint.object_store_bytes)
                finally:
                    for host in dead:
                        self._limit(host)
        return chosen

    def partition(self, words: Sequence[str]) -> list[Host]:
        """Cut hosts off: from the others, from each other, and from the front."""
        return self._set_plugs(words, is_up=False)

    def heal(self, words: Sequence[str]) -> list[Host]:
        """Plug hosts in again."""
        return self._set_plugs(words, is_up=True)

    # -- commands on hosts ------------------------------------------------------------------------

    def entering(self, word: str, command: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        """Command and environment that become `command` on a host. Raises NotFound, BadInput."""
        state = read_state(self.layout)
        if not state.is_complete:
            raise BadInput(
                f"testbed {self.layout.name!r} is not complete; if 'motet testbed up' has ended, "
                f"remove it with 'motet testbed down --name {self.layout.name}'"
            )
        return self._entering(state.blueprint.find(word), command), self._environment()

    # -- parts ------------------------------------------------------------------------------------

    def _claim(self) -> None:
        try:
            self.layout.home.mkdir(mode=0o755, parents=True, exist_ok=True)
            self.layout.folder.mkdir(mode=0o700)
        except FileExistsError:
            raise BadInput(
                f"a testbed {self.layout.name!r} is there already; remove it with 'motet testbed "
                f"down --name {self.layout.name}', or choose another --name"
            ) from None

    def _build(self, blueprint: Blueprint) -> None:
        self.say(f"making {len(blueprint.machines)} hosts")
        _write_token(self.layout.token_file)
        self.layout.ray_folder.mkdir()
        machine.write(self.groups.preparation())
        for command in network.switch_commands(self.layout):
            machine.run(command)
        for host in blueprint.hosts:
            self._build_host(host)
        if blueprint.with_ray:
            # At a fifth of a CPU Ray would need a minute to start: quotas come after it.
            self.say("starting Ray on the front")
            self._start_ray([FRONT_HOST], blueprint.object_store_bytes)
            self.say(f"starting Ray on {len(blueprint.machines)} hosts")
            self._start_ray(blueprint.machines, blueprint.object_store_bytes)
        for host in blueprint.machines:
            self._limit(host)

    def _build_host(self, host: Host) -> None:
        label = self.layout.label_of(host)
        machine.make_folders([*self.groups.folders(label), self.layout.ray_folder_of(host)])
        memory = Limits(memory_bytes=host.limits.memory_bytes)
        machine.write(self.groups.limits(label, memory))
        for command in network.host_commands(self.layout, host):
            machine.run(command)

    def _limit(self, host: Host) -> None:
        machine.write(self.groups.limits(self.layout.label_of(host), host.limits))
        for command in network.limit_commands(self.layout, host):
            machine.run(command)

    def _set_plugs(self, words: Sequence[str], *, is_up: bool) -> list[Host]:
        with locked(self.layout):
            chosen = read_state(self.layout).blueprint.select(words)
            self._plug(chosen, is_up=is_up)
        return chosen

    def _plug(self, hosts: Sequence[Host], *, is_up: bool) -> None:
        for host in hosts:
            machine.run(network.link_command(self.layout, host, is_up=is_up))

    def _kill(self, hosts: Sequence[Host]) -> None:
        for host in hosts:
            label = self.layout.label_of(host)
            machine.kill(self.groups.members_files(label), [label])

    def _runs_ray(self, host: Host) -> bool:
        return bool(self._raylets(host))

    def _raylets(self, host: Host) -> list[int]:
        numbers = machine.members(self.groups.members_files(self.layout.label_of(host)))
        return [it for it in numbers if machine.program_of(it) == commands.RAYLET]

    def _ray_node(self, host: Host) -> str:
        for raylet in self._raylets(host):
            if node := commands.node_in(machine.arguments_of(raylet)):
                return node
        raise BadInput(
            f"{host.name}: no Ray runs there, so nobody can be given notice; "
            f"start it with 'motet testbed start {host.name}'"
        )

    def _entering(self, host: Host, command: Sequence[str]) -> list[str]:
        files = self.groups.members_files(self.layout.label_of(host))
        return commands.entering(self.layout, host, files, command)

    def _environment(self) -> dict[str, str]:
        return commands.environment(self.layout, os.environ)

    def _start_ray(self, hosts: Sequence[Host], object_store_bytes: int) -> None:
        """Start Ray on several hosts at once. Raises JobFailed."""
        started = []
        for host in hosts:
            shutil.rmtree(self.layout.ray_folder_of(host))
            self.layout.ray_folder_of(host).mkdir()
            command = commands.start_ray(self.layout, host, object_store_bytes)
            log = self.layout.log_file_of(host)
            started.append(
                (log, machine.start(self._entering(host, command), self._environment(), log))
            )
        for log, process in started:
            _await_success(log, process, "Ray did not start")


def _await_success(log: Path, process: subprocess.Popen[bytes], complaint: str) -> None:
    try:
        code = process.wait(RAY_START_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise JobFailed(
            f"{complaint} within {RAY_START_TIMEOUT_S:.0f} s: {_last_words(log)}"
        ) from None
    if code == -signal.SIGKILL:
        raise JobFailed(
            "Ray was killed while it started, as happens where memory is short: give each host "
            "--memory 512mb or more, and the machine enough for all of them"
        )
    if code:
        raise JobFailed(f"{complaint} (exit status {code}): {_last_words(log)}")


def _last_words(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return " | ".join(line.strip() for line in lines[-_SHOWN_LOG_LINES:]) or "it said nothing"


def _write_token(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_hex(32))
