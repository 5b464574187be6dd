"""`motet webhook`: programs that the live cluster tells what happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from motet.domain.errors import ExitCode
from motet.interfaces.cli.live.connection import with_client
from motet.interfaces.cli.live.server_names import webhook_argument
from motet.interfaces.cli.shell.group import HelpfulGroup
from motet.interfaces.cli.shell.option_groups import json_option
from motet.interfaces.cli.shell.row_formats import rows_option, show_rows

if TYPE_CHECKING:
    from motet.interfaces.client import LiveClient

_COLUMNS = ("id", "url", "events", "created_at", "created_by", "delivered_at", "problem")


@click.group("webhook", cls=HelpfulGroup, short_help="Tell other programs what happens.")
def webhook_group() -> None:
    """Programs that the server tells, by signed HTTP requests, what happens to jobs and machines.

    Messages are signed as Standard Webhooks defines it; the docs have a receiver.
    """


@webhook_group.command("add", short_help="Tell a program what happens from now on.")
@click.argument("url", metavar="URL")
@click.option(
    "--event",
    "events",
    multiple=True,
    metavar="KIND",
    help="job.ended, attempt.started and so on; repeatable. Default: all.",
)
@json_option()
@with_client
def add_webhook(client: LiveClient, url: str, events: tuple[str, ...], as_json: bool) -> None:
    """Send what happens from now on to URL. The secret of the signatures is printed once."""
    from motet.interfaces.cli.shell.streams.results import print_json

    found = client.add_webhook(url, events)
    if as_json:
        print_json(found)
        return
    click.echo(f"{found['id']}  {found['secret']}")
    click.echo(f"next     motet webhook test {found['id']}", err=True)


@webhook_group.command("list", short_help="List the webhooks.")
@rows_option
@with_client
def list_webhooks(client: LiveClient, row_format: str) -> None:
    """List the webhooks, and why the last delivery of one failed."""
    from motet.interfaces.cli.accounts.screens import webhooks_table

    show_rows("webhooks", client.webhooks(), _COLUMNS, row_format, webhooks_table)


@webhook_group.command("remove", short_help="Tell a program nothing any more.")
@webhook_argument()
@with_client
def remove_webhook(client: LiveClient, webhook: str) -> None:
    """Remove webhook ID and its secret; events that were not delivered are dropped."""
    click.echo(f"{client.remove_webhook(webhook)['id']}  removed")


@webhook_group.command("test", short_help="Send a message to a program.")
@webhook_argument()
@with_client
def send_test(client: LiveClient, webhook: str) -> int:
    """Send a message to the program of webhook ID, once; exit status 1 if it is not received."""
    problem = client.send_test_message(webhook)["problem"]
    click.echo(f"{webhook}  {problem or 'received'}")
    return ExitCode.FAILED if problem else 0
