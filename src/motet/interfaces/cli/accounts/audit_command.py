"""`motet audit`: who did what on the live cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from motet.interfaces.cli.live.connection import with_client
from motet.interfaces.cli.shell.row_formats import rows_option, show_rows

if TYPE_CHECKING:
    from motet.interfaces.client import LiveClient

_COLUMNS = ("id", "at", "user", "role", "token", "source", "action", "target", "status")


@click.command("audit", short_help="Show who did what.")
@click.option("--user", default="", metavar="NAME", help="Only of this user.")
@click.option(
    "--limit",
    type=click.IntRange(1, 1_000_000),
    default=50,
    metavar="N",
    help="The latest N entries. Default: 50.",
)
@rows_option
@with_client
def audit_command(client: LiveClient, user: str, limit: int, row_format: str) -> None:
    """Show requests that changed something or were refused, the latest last."""
    from motet.interfaces.cli.accounts.screens import audit_table

    show_rows("entries", [*client.audit(user, limit)][::-1], _COLUMNS, row_format, audit_table)
