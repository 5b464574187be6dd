"""`motet metrics`: the figures of the server, as Prometheus reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from motet.interfaces.cli.live.connection import with_client

if TYPE_CHECKING:
    from motet.interfaces.client import LiveClient

_COMMENTS = ("# HELP ", "# TYPE ")


@click.command("metrics", short_help="Print the figures of the server.")
@click.argument("begins", metavar="[NAME]...", nargs=-1)
@with_client
def metrics_command(client: LiveClient, begins: tuple[str, ...]) -> None:
    """Print what /metrics has, in the text format of Prometheus: all of it, or what begins with one
    of the NAMEs.

    \b
    Examples:
      motet metrics motet_jobs
      motet metrics motet_schedule_duration_seconds_count
    """
    lines = client.metrics().splitlines()
    for line in lines:
        name = line.removeprefix(_COMMENTS[0]).removeprefix(_COMMENTS[1])
        if not begins or name.startswith(begins):
            click.echo(line)
