"""`motet queue` and `motet update`: queues, and the queue and priority of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from motet.domain.errors import BadInput
from motet.interfaces.cli.live.connection import with_client
from motet.interfaces.cli.shell.group import HelpfulGroup
from motet.interfaces.cli.shell.option_groups import json_option

if TYPE_CHECKING:
    from motet.interfaces.client import LiveClient


@click.group("queue", cls=HelpfulGroup, short_help="List and create queues.")
def queue_command() -> None:
    """The queues of the live cluster; policies such as drf and yarn-cs divide slots among them."""


@queue_command.command("list", short_help="List the queues.")
@json_option()
@with_client
def list_queues(client: LiveClient, as_json: bool) -> None:
    """List the queues, their jobs and the slots that these hold."""
    from motet.interfaces.cli.live.screens import queues_table
    from motet.interfaces.cli.shell.streams.results import print_json, print_result

    queues = client.queues()
    if as_json:
        print_json({"queues": queues})
    else:
        print_result(queues_table(queues))


@queue_command.command("create", short_help="Create a queue.")
@click.argument("name", metavar="NAME")
@with_client
def create_queue(client: LiveClient, name: str) -> None:
    """Create queue NAME, unless it exists."""
    click.echo(client.create_queue(name)["name"])


@click.command("update", short_help="Change the priority or queue of jobs.")
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True)
@click.option("--priority", type=int, metavar="N", help="Higher first, under policies that use it.")
@click.option("--queue", metavar="Q", help="A queue of `motet queue list`.")
@json_option()
@with_client
def update_command(
    client: LiveClient,
    jobs: tuple[str, ...],
    priority: int | None,
    queue: str | None,
    as_json: bool,
) -> None:
    """Give jobs another priority or queue. They keep their time of submission."""
    from motet.interfaces.cli.shell.streams.results import print_json

    if priority is None and queue is None:
        raise BadInput("give --priority N or --queue Q")
    changed = [client.update(job, priority, queue) for job in jobs]
    if as_json:
        print_json({"jobs": changed})
        return
    for job in changed:
        click.echo(f"{job['id']}  {job['name']}  queue {job['queue']}, priority {job['priority']}")
