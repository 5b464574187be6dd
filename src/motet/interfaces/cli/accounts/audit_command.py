"""`motet audit`: who did what on the live cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from motet.interfaces.cli.live.connection import with_client
from motet.interfaces.cli.shell.option_groups import json_option

if TYPE_CHECKING:
    from motet.interfaces.client import LiveClient


@click.command("audit", short_help="Show who did what.")
@click.option("--user", default="", metavar="NAME", help="Only of this user.")
@click.option(
    "--limit",
    type=click.IntRange(1, 1_000_000),
    default=50,
    metavar="N",
    help="The latest N entries. Default: 50.",
)
@json_option()
@with_client
def audit_command(client: LiveClient, user: str, limit: int, as_json: bool) -> None:
    """Show requests that changed something or were refused, the latest last."""
    from motet.interfaces.cli.accounts.screens import audit_table
    from motet.interfaces.cli.shell.streams.results import print_json, print_result

    entries = [*client.audit(user, limit)][::-1]
    if as_json:
        print_json({"entries": entries})
    else:
        print_result(audit_table(entries))
