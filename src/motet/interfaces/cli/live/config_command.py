"""`motet config`: what commands use unless options say otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from motet.domain.errors import BadInput, UnknownName
from motet.interfaces.cli.shell.group import HelpfulGroup
from motet.interfaces.cli.shell.row_formats import rows_option, show_rows
from motet.interfaces.configuration.settings import SETTINGS, chosen, user_file, write_setting
from motet.interfaces.server_address import ServerAddress

if TYPE_CHECKING:
    from rich.table import Table

_COLUMNS = ("key", "value", "source")


@click.group("config", cls=HelpfulGroup, short_help="Show and set defaults of commands.")
def config_group() -> None:
    """Defaults of commands for the live cluster: server, state_dir, ca_file and queue.

    An option comes first, then the variable of the environment (MOTET_SERVER, MOTET_STATE_DIR,
    MOTET_CA_FILE, MOTET_QUEUE), then motet.toml in this folder or the nearest one above it, which
    may have a queue alone, then the file of the user.
    """


def _known_key(context: click.Context, parameter: click.Parameter, key: str) -> str:
    del context, parameter
    if key not in SETTINGS:
        raise UnknownName("key", key[:80], SETTINGS)
    return key


def _complete_key(ctx: click.Context, param: click.Parameter, begin: str) -> list[str]:
    del ctx, param
    return [key for key in SETTINGS if key.startswith(begin)]


_key_argument = click.argument(
    "key", metavar="KEY", callback=_known_key, shell_complete=_complete_key
)


@config_group.command("list", short_help="Show all settings and where they come from.")
@rows_option
def list_settings(row_format: str) -> None:
    """Show all settings, their values here, and the variables or files that these come from."""
    rows = []
    for key, setting in SETTINGS.items():
        found = chosen(setting)
        value, source = (None, None) if found is None else (found.value, found.source)
        rows.append({"key": key, "value": value, "source": source})
    show_rows("settings", rows, _COLUMNS, row_format, _table)


@config_group.command("set", short_help="Set a default in the file of the user.")
@_key_argument
@click.argument("value")
def set_setting(key: str, value: str) -> None:
    """Write KEY with VALUE into the file of the user.

    \b
    Examples:
      motet config set server https://head.lab.example:8443
      motet config set queue vision
    """
    _write(key, _checked(key, value))


@config_group.command("unset", short_help="Remove a default from the file of the user.")
@_key_argument
def unset_setting(key: str) -> None:
    """Remove KEY from the file of the user."""
    _write(key, None)


def _write(key: str, value: str | None) -> None:
    path = user_file()
    write_setting(path, key, value)
    click.echo(path, err=True)


def _checked(key: str, value: str) -> str:
    """Raises BadInput."""
    if not value.strip() or not value.isprintable():
        raise BadInput(f"{key}: {value[:40]!r} is no value; 'motet config unset {key}' removes it")
    if key == "server":
        return ServerAddress.given(value, "").url
    return str(Path(value).expanduser().absolute()) if key in ("state_dir", "ca_file") else value


def _table(rows: Sequence[Mapping[str, Any]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    from motet.interfaces.cli.shell.streams.visible import visible_text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in _COLUMNS:
        table.add_column(column.upper(), overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible_text(row[name] or "-")) for name in _COLUMNS))
    return table
