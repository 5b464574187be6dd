"""Options that say which server a command talks to, and the note that it is away."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from motet.interfaces.cli.shell.streams.visible import echo_note


def with_client(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--server` and `--state-dir`; the command gets the parameter `client`."""

    @wraps(command)
    def wrapped(*args: Any, server: str | None, state_folder: Path | None, **others: Any) -> Any:
        from motet.interfaces.client import LiveClient
        from motet.interfaces.server_address import ServerAddress

        with LiveClient(ServerAddress.find(server, state_folder)) as client:
            return command(*args, client=client, **others)

    return state_option(server_option(wrapped))


def echo_absence(why: str) -> None:
    """What a command that goes on meanwhile prints; see ServerAbsence."""
    echo_note(f"motet: {why}")


def server_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--server`, the parameter `server`, and `--ca-file`, which sets MOTET_CA_FILE."""
    trusted = click.option(
        "--ca-file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        expose_value=False,
        callback=_trust,
        help="Certificates (PEM) that the server's must come from; by default MOTET_CA_FILE, or "
        "those of the system.",
    )
    return click.option(
        "--server",
        metavar="URL",
        help="The server; by default MOTET_SERVER, that of 'motet config', or the one that runs "
        "here.",
    )(trusted(command))


def _trust(context: click.Context, parameter: click.Parameter, path: Path | None) -> None:
    del context, parameter
    if path is not None:
        os.environ["MOTET_CA_FILE"] = str(path)


def state_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--state-dir`, the parameter `state_folder`."""
    return click.option(
        "--state-dir",
        "state_folder",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Folder of the server's journal, token and logs.",
    )(command)
