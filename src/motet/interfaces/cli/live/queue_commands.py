"""`motet queue` and `motet update`: queues, and the queue, priority and limit of jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from motet.domain.errors import BadInput
from motet.domain.units import written_duration
from motet.interfaces.cli.live.connection import with_client
from motet.interfaces.cli.live.server_names import job_argument, queue_argument, queue_option
from motet.interfaces.cli.shell.group import HelpfulGroup
from motet.interfaces.cli.shell.option_groups import json_option
from motet.interfaces.cli.shell.option_types import LimitType
from motet.interfaces.cli.shell.row_formats import rows_option, show_rows

if TYPE_CHECKING:
    from motet.interfaces.client import LiveClient


_COLUMNS = (
    *("name", "slots", "running", "waiting", "guarantee", "borrow", "lend", "borrowed"),
    *("idle_guarantee", "mode"),
)


@click.group("queue", cls=HelpfulGroup, short_help="List, limit, hold and drain queues.")
def queue_command() -> None:
    """The queues of the live cluster: guarantees, borrowing and lending under any policy."""


@queue_command.command("list", short_help="List the queues.")
@rows_option
@with_client
def list_queues(client: LiveClient, row_format: str) -> None:
    """List the queues, their jobs and the slots that these hold."""
    _print(client.queues(), row_format)


_LIMITS = (
    ("guarantee", "Slots that the queue gets back from others when its jobs need them."),
    ("borrow", "Slots that it holds at most beyond its guarantee; none: any number."),
    ("lend", "Slots of its guarantee that others hold at most; none: all of them."),
)


def _limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for name, text in reversed(_LIMITS):
        command = click.option(f"--{name}", metavar="N", help=text)(command)
    return command


def _limits(given: Mapping[str, str | None]) -> dict[str, int | None]:
    """The limits that were given. Raises BadInput."""
    found: dict[str, int | None] = {}
    for name, text in given.items():
        if text is None:
            continue
        if text != "none" and not (text.isascii() and text.isdecimal() and len(text) < 10):
            raise BadInput(f"--{name} {text}: give a whole number of slots, or none")
        found[name] = None if text == "none" else int(text)
    return found


@queue_command.command("create", short_help="Create a queue.")
@queue_argument()
@_limit_options
@with_client
def create_queue(client: LiveClient, name: str, **limits: str | None) -> None:
    """Create queue NAME; if it exists, change the limits that are given."""
    click.echo(client.create_queue(name, _limits(limits))["name"])


@queue_command.command("update", short_help="Change the limits of a queue.")
@queue_argument()
@_limit_options
@rows_option
@with_client
def limit_queue(client: LiveClient, name: str, row_format: str, **limits: str | None) -> None:
    """Change limits of queue NAME; those that are not given stay."""
    changes = _limits(limits)
    if not changes:
        raise BadInput("give --guarantee, --borrow or --lend")
    _print([client.limit_queue(name, changes)], row_format)


@queue_command.command("describe", short_help="Show a queue.")
@queue_argument()
@rows_option
@with_client
def describe_queue(client: LiveClient, name: str, row_format: str) -> None:
    """Show queue NAME: its limits, what it holds, and its mode."""
    _print([client.queue(name)], row_format)


@queue_command.command("delete", short_help="Delete a queue without jobs.")
@queue_argument()
@with_client
def delete_queue(client: LiveClient, name: str) -> None:
    """Delete queue NAME, which has no jobs that have not ended."""
    click.echo(client.delete_queue(name)["name"])


def _mode_command(verb: str, summary: str, text: str) -> None:
    @queue_command.command(verb, short_help=summary, help=text)
    @queue_argument("names", is_many=True)
    @rows_option
    @with_client
    def command(client: LiveClient, names: tuple[str, ...], row_format: str) -> None:
        _print([client.set_queue_mode(name, verb) for name in names], row_format)


_mode_command(
    "hold", "Start no jobs of queues.", "Let waiting jobs of queues wait; running ones go on."
)
_mode_command(
    "drain",
    "Take no further jobs.",
    "Refuse further jobs of queues; those that are in them wait and run as before.",
)
_mode_command("resume", "End a hold or a drain.", "Let queues take and start jobs again.")


def _print(queues: list[dict[str, Any]], row_format: str) -> None:
    from motet.interfaces.cli.live.screens import queues_table

    show_rows("queues", queues, _COLUMNS, row_format, queues_table)


@click.command("update", short_help="Change the priority, queue or time limit of jobs.")
@job_argument("jobs", is_many=True, all_states=False)
@click.option("--priority", type=int, metavar="N", help="Higher first, under policies that use it.")
@queue_option("A queue of `motet queue list`.")
@click.option(
    "--max-duration",
    type=LimitType(),
    metavar="TIME",
    help="End them when they have run so long, over all attempts; none: no limit. Users may lower "
    "it, admins may raise or remove it.",
)
@json_option()
@with_client
def update_command(
    client: LiveClient,
    jobs: tuple[str, ...],
    priority: int | None,
    queue: str | None,
    max_duration: float | None,
    as_json: bool,
) -> None:
    """Give jobs another priority, queue or time limit. They keep their time of submission, and jobs
    that run obey at once."""
    from motet.interfaces.cli.live.job_commands import show_changed
    from motet.interfaces.live_cluster.arguments import job_changes
    from motet.interfaces.live_cluster.job_changes import changed_jobs

    if priority is None and queue is None and max_duration is None:
        raise BadInput("give --priority N, --queue Q or --max-duration TIME")
    changes = job_changes(priority=priority, queue=queue, max_duration=max_duration)
    changed = changed_jobs(client, jobs, lambda job: client.update(job, changes))
    show_changed(changed, _changed_line, as_json=as_json)


def _changed_line(job: dict[str, Any]) -> str:
    limit_s = job.get("max_duration_s")  # An older server knows no limits.
    limit = "" if limit_s is None else f", time limit {written_duration(limit_s)}"
    return f"{job['id']}  {job['name']}  queue {job['queue']}, priority {job['priority']}{limit}"
