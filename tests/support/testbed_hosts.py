"""Real testbeds for tests; where none can be made, the test is skipped with the reason."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from motet.domain.errors import MotetError
from motet.testbed import machine
from motet.testbed.cgroups import ControlGroups, group_labels
from motet.testbed.hosts import Blueprint, Limits, equal_machines
from motet.testbed.layout import HostLayout
from motet.testbed.network import DEVICE
from motet.testbed.state import read_state
from motet.testbed.testbed import Testbed

MOTET = (sys.executable, "-m", "motet.interfaces.cli")
NOBODY = "02:00:00:00:00:01"


def control_groups() -> ControlGroups:
    """This machine's, or a skip."""
    try:
        return machine.require_testbed_machine()
    except MotetError as error:
        pytest.skip(str(error))


def fresh_name() -> str:
    """A name that no other testbed of this machine has."""
    return f"t{uuid.uuid4().hex[:8]}"


def bare_testbed() -> Testbed:
    """Nothing is there yet."""
    return Testbed(HostLayout(fresh_name()), control_groups())


@contextmanager
def hosts(count: int, limits: Limits | None = None, *, with_ray: bool = False) -> Iterator[Testbed]:
    """A testbed for the length of a test; a skip where the machine refuses the first namespace."""
    testbed = bare_testbed()
    machines = equal_machines(count, limits or Limits())
    try:
        testbed.up(Blueprint(testbed.layout.name, machines, with_ray))
    except MotetError as error:
        if "--privileged" in str(error):
            pytest.skip(str(error))
        raise
    try:
        yield testbed
    finally:
        testbed.down()


@contextmanager
def one_way_partition(testbed: Testbed, source: str, target: str) -> Iterator[None]:
    """Packets from one host to another are lost, those in the other direction arrive.

    The source sends them to a hardware address that no host has.
    """
    blueprint = read_state(testbed.layout).blueprint
    space = testbed.layout.label_of(blueprint.find(source))
    address = testbed.layout.address_of(blueprint.find(target))
    neighbour = ("ip", "-n", space, "neigh")
    machine.run_command(
        [*neighbour, "replace", address, "lladdr", NOBODY, "dev", DEVICE, "nud", "permanent"]
    )
    try:
        yield
    finally:
        machine.run_command([*neighbour, "del", address, "dev", DEVICE])


def left_behind(testbed: Testbed) -> list[str]:
    """Everything of a testbed that can be seen on this machine."""
    layout = testbed.layout
    mounts = Path("/proc/mounts").read_text(encoding="utf-8").splitlines()
    return [
        *layout.ours(machine.namespaces()),
        *layout.ours(group_labels(testbed.groups)),
        *map(str, layout.home.glob(f"{layout.name}*")),
        *(line for line in mounts if f"{layout.folder}" in line or f"motet-{layout.name}." in line),
        *_processes(f"{layout.name}"),
    ]


def _processes(word: str) -> list[str]:
    """Command lines with the word in them, but for this process and those it runs under."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) not in (os.getpid(), os.getppid()):
            try:
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if word in line:
                found.append(line)
    return found


def on_host(testbed: Testbed, host: str, *command: str) -> subprocess.Popen[str]:
    """Start a command on a host."""
    arguments, environment = testbed.entering(host, command)
    return subprocess.Popen(
        arguments, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def said_on(testbed: Testbed, host: str, *command: str, timeout_s: float = 200.0) -> str:
    """What a command prints on a host; it must succeed."""
    process = on_host(testbed, host, *command)
    out, err = process.communicate(timeout=timeout_s)
    assert process.returncode == 0, err
    return out


def python_on(testbed: Testbed, host: str, program: str, *arguments: str) -> str:
    """What a Python program prints on a host."""
    return said_on(testbed, host, sys.executable, "-c", program, *arguments)


def motet(*arguments: str, timeout_s: float = 200.0) -> subprocess.CompletedProcess[str]:
    """Run `motet` as a user does."""
    return subprocess.run(
        [*MOTET, *arguments],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
        env={**os.environ, "PYTHONPATH": _python_path(sys.path)},
    )


def _python_path(path: Sequence[str]) -> str:
    return os.pathsep.join(folder for folder in path if folder)
