"""From the options of `motet server` to those of the server, and its first lines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from motet.domain.cluster import ClusterSpec
from motet.interfaces.cli.live.name_value import name_and_value
from motet.interfaces.server.serve import ServerOptions
from motet.interfaces.server_address import TOKEN_FILE, default_server_folder
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy


def requested(
    policy: str,
    settings: Sequence[str],
    cluster: str | None,
    port: int,
    database: str | None,
    state_folder: Path | None,
) -> ServerOptions:
    """Check the options. Raises BadInput."""
    values = dict(name_and_value("--set", each) for each in settings)
    folder = (state_folder or default_server_folder()).absolute()
    return ServerOptions(folder, _cluster(cluster), ChoosePolicy(policy, values), database, port)


def started(url: str, options: ServerOptions) -> None:
    """Tell the user where the server is and what to do next."""
    chosen = options.policy.policy
    slots, machines = sum(options.cluster.slots), len(options.cluster.names)
    click.echo(f"server   {url}", err=True)
    click.echo(f"token    {options.folder / TOKEN_FILE}", err=True)
    many = "1 machine" if machines == 1 else f"{machines} machines"
    click.echo(f"cluster  {many}, {slots} slots; policy {chosen}", err=True)
    click.echo("next     motet submit -- python train.py", err=True)


def _cluster(text: str | None) -> ClusterDeclared:
    if text is None:
        return ClusterDeclared(("m0",), (len(os.sched_getaffinity(0)),))
    spec = ClusterSpec.parse(text)
    return ClusterDeclared(spec.names, tuple(spec.gpus.tolist()))
