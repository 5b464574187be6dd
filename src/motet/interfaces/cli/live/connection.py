"""Options that say which server a command talks to."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click


def with_client(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--server` and `--state-dir`; the command gets the parameter `client`."""

    @wraps(command)
    def wrapped(*args: Any, server: str | None, state_folder: Path | None, **others: Any) -> Any:
        from motet.interfaces.client import LiveClient
        from motet.interfaces.server_address import ServerAddress

        with LiveClient(ServerAddress.find(server, state_folder)) as client:
            return command(*args, client=client, **others)

    return state_option(server_option(wrapped))


def server_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--server`, the parameter `server`."""
    return click.option(
        "--server",
        metavar="URL",
        help="The server; by default MOTET_SERVER, or the one that runs here.",
    )(command)


def state_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--state-dir`, the parameter `state_folder`."""
    return click.option(
        "--state-dir",
        "state_folder",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Folder of the server's journal, token and logs.",
    )(command)
