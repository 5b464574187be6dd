"""Options of `motet server` that let other machines reach it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def exposure_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds them; the command gets the parameter `exposure`."""

    @wraps(command)
    def wrapped(
        *args: Any,
        host: str,
        tls_cert: Path | None,
        tls_key: Path | None,
        behind_proxy: str | None,
        root_path: str,
        trusted_users: bool,
        **others: Any,
    ) -> Any:
        from motet.interfaces.cli.shell.server_extra import require_server_extra

        require_server_extra()
        from motet.interfaces.server.network.exposure import Exposure

        found = Exposure(host, tls_cert, tls_key, behind_proxy, root_path, trusted_users)
        found.check()
        return command(*args, exposure=found, **others)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


_OPTIONS = (
    click.option(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="Where to listen; beyond this machine only with TLS or a proxy. Default: 127.0.0.1.",
    ),
    click.option("--tls-cert", type=_FILE, metavar="FILE", help="Certificate (PEM) for https."),
    click.option("--tls-key", type=_FILE, metavar="FILE", help="Its key, closed to other users."),
    click.option(
        "--behind-proxy",
        metavar="NAME",
        help="Host name under which a reverse proxy with TLS serves this server.",
    ),
    click.option(
        "--root-path", default="", metavar="PATH", help="Path below which the proxy serves it."
    ),
    click.option(
        "--trusted-users",
        is_flag=True,
        help="Other users may submit jobs from other machines; they can act as you.",
    ),
)
