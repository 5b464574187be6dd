"""From the options of `motet server` to those of the server, and its first lines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput
from motet.interfaces.cli.live.name_value import name_and_value
from motet.interfaces.server.serve import ServerOptions
from motet.interfaces.server_address import TOKEN_FILE, default_server_folder
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy


@dataclass(frozen=True, slots=True)
class ClusterChoice:
    """Where jobs run: `cluster` on this computer, or the Ray cluster at `address`."""

    cluster: str | None
    address: str | None
    lease_s: float

    def declared(self) -> ClusterDeclared:
        """Raises BadInput."""
        if self.address is not None:
            self._check_address(self.address)
            return ClusterDeclared((), (), joins=True)
        if self.cluster is None:
            return ClusterDeclared(("m0",), (len(os.sched_getaffinity(0)),))
        spec = ClusterSpec.parse(self.cluster)
        return ClusterDeclared(spec.names, tuple(spec.gpus.tolist()))

    def _check_address(self, address: str) -> None:
        if self.cluster is not None:
            raise BadInput("--cluster describes this computer; the machines of --address are Ray's")
        host, _, port = address.rpartition(":")
        if not host or not (port.isascii() and port.isdecimal() and 0 < int(port) < 65536):
            raise BadInput(f"--address {address}: write HOST:PORT, as `ray start` prints it")


def requested(
    policy: str,
    settings: Sequence[str],
    place: ClusterChoice,
    port: int,
    database: str | None,
    state_folder: Path | None,
) -> ServerOptions:
    """Check the options. Raises BadInput."""
    values = dict(name_and_value("--set", each) for each in settings)
    folder = (state_folder or default_server_folder()).absolute()
    address, lease_s = place.address, place.lease_s
    chosen = ChoosePolicy(policy, values)
    return ServerOptions(folder, place.declared(), chosen, database, port, address, lease_s)


def started(url: str, options: ServerOptions) -> None:
    """Tell the user where the server is and what to do next."""
    chosen = options.policy.policy
    click.echo(f"server   {url}", err=True)
    click.echo(f"token    {options.folder / TOKEN_FILE}", err=True)
    click.echo(f"cluster  {_told(options)}; policy {chosen}", err=True)
    click.echo("next     motet submit -- python train.py", err=True)


def _told(options: ServerOptions) -> str:
    if options.address is not None:
        return f"Ray at {options.address}"
    slots, machines = sum(options.cluster.slots), len(options.cluster.names)
    return f"{'1 machine' if machines == 1 else f'{machines} machines'}, {slots} slots"
