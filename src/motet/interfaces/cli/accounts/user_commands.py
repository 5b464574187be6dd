"""`motet user`: the users of the live cluster and their roles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from motet.interfaces.cli.live.connection import with_client
from motet.interfaces.cli.shell.group import HelpfulGroup
from motet.interfaces.cli.shell.row_formats import rows_option, show_rows

if TYPE_CHECKING:
    from motet.interfaces.client import LiveClient

ROLES = ("viewer", "user", "admin")

_COLUMNS = ("name", "role", "created_at", "created_by", "revoked_at")


@click.group("user", cls=HelpfulGroup, short_help="Create, list and revoke users.")
def user_group() -> None:
    """The users of the live cluster. A user needs a token, too: motet token create NAME."""


@user_group.command("create", short_help="Create a user.")
@click.argument("name", metavar="NAME")
@click.option(
    "--role",
    type=click.Choice(ROLES),
    default="user",
    help="viewer reads, user has jobs, admin changes the cluster and the jobs of others. "
    "Default: user.",
)
@with_client
def create_user(client: LiveClient, name: str, role: str) -> None:
    """Create user NAME, or one that was revoked again."""
    found = client.create_user(name, role)
    click.echo(f"{found['name']}  {found['role']}")
    click.echo(f"next     motet token create {found['name']}", err=True)


@user_group.command("list", short_help="List the users.")
@rows_option
@with_client
def list_users(client: LiveClient, row_format: str) -> None:
    """List the users; the first one runs the server."""
    from motet.interfaces.cli.accounts.screens import users_table

    show_rows("users", client.users(), _COLUMNS, row_format, users_table)


@user_group.command("revoke", short_help="Refuse a user from now on.")
@click.argument("name", metavar="NAME")
@with_client
def revoke_user(client: LiveClient, name: str) -> None:
    """Refuse all tokens and web sessions of user NAME. Jobs of the user run on."""
    click.echo(f"{client.revoke_user(name)['name']}  revoked")
