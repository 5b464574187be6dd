"""From the options of `motet server` to those of the server, and its first lines."""

from __future__ import annotations

import os
import shlex
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput
from motet.domain.queues.queue_file import read_queue_file
from motet.insight.wording import counted
from motet.interfaces.cli.live.policy_option import policy_and_settings
from motet.interfaces.ray_nodes.cluster_record import node_environment
from motet.interfaces.ray_nodes.node_process import OfferedNode, started_head
from motet.interfaces.server.serve import ServerOptions
from motet.interfaces.server.state_folder import open_state_folder
from motet.interfaces.server_address import TOKEN_FILE, default_server_folder
from motet.interfaces.usable_hardware import AUTO, chosen_devices, cpu_count, memory_bytes
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy
from motet.live.master.policy_choice import policy_of
from motet.live.queues.queue_changes import DefineQueues
from motet.live.slots.devices import divided_devices

DEFAULT_PORT = 6379


@dataclass(frozen=True, slots=True)
class ClusterChoice:
    """Where jobs run: `cluster` on this computer, or the Ray cluster at `address`.

    `gpus`: which GPUs of this computer are slots, see `chosen_devices`.
    """

    cluster: str | None
    address: str | None
    lease_s: float
    drain_after: int
    gpus: str

    def declared(self) -> ClusterDeclared:
        """Raises BadInput."""
        if self.address is not None:
            if self.cluster is not None:
                raise BadInput(
                    "--cluster describes this computer; the machines of --address are Ray's"
                )
            if self.gpus != AUTO:
                raise BadInput("--gpus names GPUs of this computer; those of --address are Ray's")
            check_address("--address", self.address)
            return ClusterDeclared((), (), joins=True)
        found = chosen_devices(self.gpus)
        spec = ClusterSpec.parse(self.cluster or f"1x{len(found) or cpu_count()}")
        slots = tuple(spec.gpus.tolist())
        devices = divided_devices(slots, found, are_given=self.gpus != AUTO)
        count = len(spec.names)
        cpus = (cpu_count() // count,) * count if devices else slots
        memory = (memory_bytes() // count,) * count
        return ClusterDeclared(spec.names, slots, False, devices, cpus, memory)


def check_address(option: str, address: str) -> None:
    """Raises BadInput."""
    host, _, port = address.rpartition(":")
    if not host or not (port.isascii() and port.isdecimal() and 0 < int(port) < 65536):
        raise BadInput(f"{option} {address}: write HOST:PORT, as `ray start` prints it")


def address_of_head(head: str, state_folder: Path | None, other: str | None, gpus: str) -> str:
    """Start the head of a Ray cluster unless it runs. Raises BadInput, Unreachable.

    `other`: what was given of `--cluster` and `--address`. `gpus`: which GPUs of this machine are
    its slots. The variables of this process become those of the cluster's processes.
    """
    if other is not None:
        raise BadInput(
            f"--head starts a cluster of its own; leave out --cluster and --address ({other})"
        )
    host, colon, port = head.rpartition(":") if ":" in head else (head, "", "")
    folder = (state_folder or default_server_folder()).absolute()
    address = f"{host}:{port if colon else DEFAULT_PORT}"
    check_address("--head", address)
    open_state_folder(folder)
    node = OfferedNode.of(socket.gethostname(), None, gpus)
    record = started_head(folder, address, node)
    os.environ |= node_environment(folder)
    return record.address


def requested(
    policy: str | None,
    settings: Sequence[str],
    place: ClusterChoice,
    port: int,
    database: str | None,
    state_folder: Path | None,
) -> ServerOptions:
    """Check the options. Raises BadInput."""
    chosen = _chosen(policy, settings)
    folder = (state_folder or default_server_folder()).absolute()
    limits = place.address, place.lease_s, place.drain_after
    return ServerOptions(folder, place.declared(), chosen, database, port, *limits)


def queues_of_file(path: Path | None) -> DefineQueues | None:
    """The queues of `--queues`. Raises BadInput."""
    return None if path is None else DefineQueues(read_queue_file(path))


def _chosen(policy: str | None, settings: Sequence[str]) -> ChoosePolicy | None:
    """The policy of the options, checked. Raises BadInput."""
    if policy is None:
        if settings:
            raise BadInput(f"--set {settings[0]} is a parameter of a policy; give --policy, too")
        return None
    name, values = policy_and_settings(policy, settings)
    policy_of(name, values)
    return ChoosePolicy(name, values)


def started(url: str, policy: str, options: ServerOptions) -> None:
    """Tell the user where the server is, what it decides by, and what to do next."""
    click.echo(f"server   {url}", err=True)
    click.echo(f"token    {options.folder / TOKEN_FILE}", err=True)
    click.echo(f"cluster  {_told(options)}; policy {policy}", err=True)
    home = options.folder
    where = "" if home == default_server_folder() else f" --state-dir {shlex.quote(str(home))}"
    click.echo(f"next     motet submit{where} -- python train.py", err=True)


def compiling(policy: str) -> None:
    """Tell the user why the server is not ready yet."""
    name = Path(policy).name
    click.echo(f"compile  policy {name}, once after an installation, for up to a minute", err=True)


def ended(jobs: int) -> None:
    """Tell the user what a server that ends leaves: `jobs` run on."""
    if jobs:
        what, them = ("1 job runs", "it") if jobs == 1 else (f"{jobs:,} jobs run", "them")
        click.echo(f"{what} on; the next server adopts {them}: start it again", err=True)


def _told(options: ServerOptions) -> str:
    if options.address is not None:
        return f"Ray at {options.address}"
    slots, machines = sum(options.cluster.slots), len(options.cluster.names)
    what = "GPU" if options.cluster.devices else "slot"
    return f"{counted(machines, 'machine')}, {counted(slots, what)}"
