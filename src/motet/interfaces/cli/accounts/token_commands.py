"""`motet token`: with what users of the live cluster show who they are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from motet.domain.errors import BadInput
from motet.interfaces.api_access.token_life import USUAL_LIFE_DAYS
from motet.interfaces.cli.accounts.user_commands import ROLES
from motet.interfaces.cli.live.connection import with_client
from motet.interfaces.cli.live.server_names import token_argument
from motet.interfaces.cli.shell.group import HelpfulGroup
from motet.interfaces.cli.shell.row_formats import rows_option, show_rows
from motet.interfaces.cli.shell.streams.terminal_output import is_stdout

if TYPE_CHECKING:
    from motet.interfaces.client import LiveClient

_COLUMNS = ("id", "user", "role", "label", "created_at", "created_by", "expires_at", "revoked_at")


@click.group("token", cls=HelpfulGroup, short_help="Create, list and revoke tokens.")
def token_group() -> None:
    """The tokens of the live cluster. The server keeps their digests, so that it shows each of them
    once."""


@token_group.command("create", short_help="Create a token of a user.")
@click.argument("user", metavar="USER")
@click.option(
    "--role", type=click.Choice(ROLES), help="The most that it allows. Default: the user's role."
)
@click.option("--label", default="", metavar="TEXT", help="What it is for.")
@click.option(
    "--days",
    type=click.IntRange(0, 3650),
    default=USUAL_LIFE_DAYS,
    metavar="N",
    help=f"Until it expires; 0: never. Default: {USUAL_LIFE_DAYS}.",
)
@click.option(
    "--to",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write it to a new file that only you can read; '-' is stdout. Default: print it.",
)
@with_client
def create_token(
    client: LiveClient,
    user: str,
    role: str | None,
    label: str,
    days: int,
    path: Path | None,
) -> None:
    """Create a token for USER, who sets it as MOTET_TOKEN. It is shown once."""
    wanted = user, role, label, days or None
    if path is None or is_stdout(path):
        click.echo(client.create_token(*wanted)["text"])
        return
    with _new_private_file(path) as file:
        try:
            found = client.create_token(*wanted)
        except BaseException:
            path.unlink()
            raise
        file.write(f"{found['text']}\n")
    click.echo(f"{found['id']}  {found['user']}  {found['role']}  {path}")


@token_group.command("list", short_help="List the tokens.")
@rows_option
@with_client
def list_tokens(client: LiveClient, row_format: str) -> None:
    """List the tokens: an admin sees all of them, others their own."""
    from motet.interfaces.cli.accounts.screens import tokens_table

    show_rows("tokens", client.tokens(), _COLUMNS, row_format, tokens_table)


@token_group.command("revoke", short_help="Refuse a token from now on.")
@token_argument()
@with_client
def revoke_token(client: LiveClient, token: str) -> None:
    """Refuse the token with this id, and the web sessions that began with it."""
    found = client.revoke_token(token)
    click.echo(f"{found['id']}  {found['user']}  revoked")


def _new_private_file(path: Path) -> TextIO:
    """Before the token exists, so that none is created that cannot be written. Raises BadInput."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise BadInput(f"--to {path}: {error.strerror}; name a new file") from error
    return open(descriptor, "w", encoding="ascii")
