"""`motet events`: changes of jobs as they happen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from motet.interfaces.cli.live.connection import with_client
from motet.interfaces.cli.live.job_lists.list_command import CSV_COLUMNS
from motet.interfaces.cli.live.server_names import array_option, queue_option
from motet.interfaces.cli.shell.row_formats import rows_option

if TYPE_CHECKING:
    from motet.interfaces.client import LiveClient


@click.command("events", short_help="Print changes of jobs as they happen.")
@array_option("--array", help="Only jobs of this array.")
@queue_option("Only jobs of this queue.")
@click.option("--user", metavar="U", help="Only jobs of this user.")
@rows_option
@with_client
def events_command(
    client: LiveClient, array: str | None, queue: str | None, user: str | None, row_format: str
) -> None:
    """Print a line for every change of a job from now on, until Ctrl-C: its id, name, state and
    reason. With -o json a document per line, with -o csv a row.

    Every job counts by itself; 'motet list --watch' shows arrays as one row, and what was before.
    """
    from motet.interfaces.cli.live.job_lists.job_watch import watch_jobs
    from motet.interfaces.live_cluster.job_changes import WatchedJobs

    if row_format == "yaml":
        raise click.UsageError("-o yaml: give -o json, which prints a document per line")
    watched = WatchedJobs(client, (), array or "0", queue=queue, user=user)
    watched.look()
    watch_jobs(client, watched, row_format, CSV_COLUMNS, redraws=False)
