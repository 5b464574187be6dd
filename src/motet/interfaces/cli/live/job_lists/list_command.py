"""`motet list`: the jobs of the live cluster."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from motet.interfaces.cli.live.connection import with_client
from motet.interfaces.cli.live.job_lists.states_option import states_option
from motet.interfaces.cli.live.server_names import array_option, queue_option
from motet.interfaces.cli.shell.row_formats import print_rows, rows_option
from motet.live.jobs.job_state import JobState

if TYPE_CHECKING:
    from motet.interfaces.client import LiveClient

CSV_COLUMNS = (
    *("id", "name", "user", "queue", "priority", "array", "index", "kind", "processes", "state"),
    *("reason", "message", "attempts", "submitted_at", "started_at", "ended_at", "progress"),
    *("max_duration_s", "limit_at", "held_processes", "most_processes", "least_processes"),
)
_RECENT = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class ListedJobs:
    """What to list. `ended_since`: none that ended before (ISO 8601); None: all. `limit`: so many,
    the latest; None: all."""

    states: tuple[str, ...] = ()
    array: str | None = None
    user: str | None = None
    queue: str | None = None
    ended_since: str | None = None
    limit: int | None = None

    @property
    def is_narrowed(self) -> bool:
        """Whether the user has chosen some of the jobs."""
        return bool(self.states or self.array or self.user or self.queue)


@click.command("list", short_help="List the jobs of the live cluster.")
@states_option("Only jobs in these states, however long ago they ended.", [*JobState])
@array_option("--array", help="The jobs of this array, which is one row otherwise.")
@queue_option("Only jobs of this queue.")
@click.option("--user", metavar="U", help="Only jobs of this user.")
@click.option("--all", "shows_all", is_flag=True, help="Also jobs that ended more than a day ago.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="The latest N.")
@click.option(
    "-w",
    "--watch",
    "is_watching",
    is_flag=True,
    help="Show changes until Ctrl-C: on a terminal the list is drawn again, elsewhere every change "
    "is a line.",
)
@rows_option
@with_client
def list_command(
    client: LiveClient, row_format: str, *, shows_all: bool, is_watching: bool, **given: Any
) -> None:
    """List jobs in the order of submission: those that have not ended, and those that ended within
    the last day, also with -o json, yaml and csv. What is left out is counted on standard error;
    --all, --state and --array leave out nothing."""
    wanted = ListedJobs(**given)
    if not (shows_all or wanted.states or wanted.array):
        recent = (datetime.now(UTC) - _RECENT).isoformat()
        wanted = ListedJobs(**{**given, "ended_since": recent})
    if is_watching:
        _watch(client, wanted, row_format)
        return
    from motet.insight.policy_failure import policy_failure_words
    from motet.interfaces.cli.live.screens import jobs_table
    from motet.interfaces.cli.shell.streams.results import print_result
    from motet.interfaces.cli.shell.streams.visible import echo_note

    jobs, hidden = _found(client, wanted)
    if row_format != "table":
        print_rows("jobs", jobs, CSV_COLUMNS, row_format)
    elif jobs:
        print_result(jobs_table(jobs))
    elif wanted.is_narrowed:
        click.echo("no jobs meet this", err=True)
    elif not hidden:
        click.echo("no jobs; submit one: motet submit -- python train.py", err=True)
    if row_format == "table" and (failure := policy_failure_words(_policy_failure(client))):
        echo_note(f"warning: {failure}")
    if hidden:
        jobs_or_job = "job" if hidden == 1 else "jobs"
        left_out = f"left out: {hidden:,} {jobs_or_job} that ended more than a day ago"
        click.echo(f"{left_out}; motet list --all shows them", err=True)


def _found(client: LiveClient, wanted: ListedJobs) -> tuple[list[dict[str, Any]], int]:
    """The rows, and how many are left out because they ended long ago."""
    jobs: deque[dict[str, Any]] = deque(maxlen=wanted.limit)
    hidden = 0
    for page in client.job_pages(wanted.states, wanted.array, "0", **_more(wanted)):
        jobs += page["jobs"]
        hidden += page["hidden"]
    return [*jobs], hidden


def _policy_failure(client: LiveClient) -> str:
    return client.policy().get("failure") or ""


def _more(wanted: ListedJobs) -> dict[str, str | None]:
    return {"user": wanted.user, "queue": wanted.queue, "ended_since": wanted.ended_since}


def _watch(client: LiveClient, wanted: ListedJobs, row_format: str) -> None:
    from motet.interfaces.cli.live.job_lists.job_watch import watch_jobs
    from motet.interfaces.live_cluster.job_changes import WatchedJobs

    if row_format == "yaml":
        raise click.UsageError("--watch -o yaml: give -o json, which prints a document per line")
    if wanted.limit is not None:
        raise click.UsageError("--watch --limit: a list that is watched shows all of its jobs")
    watched = WatchedJobs(client, wanted.states, wanted.array, **_more(wanted))
    watch_jobs(client, watched, row_format, CSV_COLUMNS)
