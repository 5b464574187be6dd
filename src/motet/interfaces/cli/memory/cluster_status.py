"""`motet memory status --cluster`: what the machines of a live cluster lend."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])
_USUAL = ""


def cluster_option(command: _Command) -> _Command:
    """Adds `--cluster`, the parameter `server`; None: not given, empty: without a URL."""
    option = click.option(
        "--cluster",
        "server",
        is_flag=False,
        flag_value=_USUAL,
        metavar="[URL]",
        help="Of a live cluster, by the URL of its server. Default: that of --state-dir, "
        "MOTET_SERVER or this user.",
    )
    return option(command)


def show_cluster(server: str, folder: Path | None, as_json: bool) -> None:
    """Ask the server. Raises NotFound: the cluster lends no memory."""
    from motet.interfaces.cli.memory.screens import cluster_screen
    from motet.interfaces.cli.shell.streams.results import print_json, print_result
    from motet.interfaces.client import LiveClient
    from motet.interfaces.server_address import ServerAddress

    with LiveClient(ServerAddress.find(server or None, folder)) as client:
        document = client.memory()
    if as_json:
        print_json(document)
    else:
        print_result(cluster_screen(document))
