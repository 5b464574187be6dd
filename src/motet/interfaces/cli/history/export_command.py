"""`motet jobs export`: accounting records of the live cluster's jobs, in the form of sacct."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from motet.interfaces.cli.live.connection import with_client
from motet.interfaces.cli.shell.group import HelpfulGroup

if TYPE_CHECKING:
    from motet.interfaces.client import LiveClient


@click.group("jobs", cls=HelpfulGroup, short_help="Export the jobs of the live cluster.")
def jobs_group() -> None:
    """All jobs of the live cluster."""


@jobs_group.command("export", short_help="Print accounting records in the form of sacct.")
@click.option(
    "--since",
    metavar="TIME",
    help="Jobs submitted since then: 2h, 7d, or 2026-12-01T08:00. Default: all.",
)
@with_client
def export_jobs(client: LiveClient, since: str | None) -> None:
    """Print a record per attempt, as `sacct --parsable2 --duplicates` of Slurm does; times are UTC.

    A slot counts as a GPU. What reads accounting logs of Slurm reads it, Motet's simulator too:

    \b
      motet jobs export > jobs.txt
      motet simulate --trace jobs.txt --cluster 2x4 --policy fifo,srtf
    """
    from motet.interfaces.api_access.given_moments import past_moment

    begin = None
    if since is not None:
        begin = past_moment("--since", since, datetime.now().astimezone()).isoformat()
    for line in client.accounting(begin):
        click.echo(line)
