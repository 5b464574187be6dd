"""`motet memory web`: a page and metrics of this machine's lender and devices."""

from __future__ import annotations

import socket
from pathlib import Path

import click

from motet.domain.errors import BadInput
from motet.interfaces.cli.memory.options import memory_folder, state_dir_option
from motet.interfaces.cli.shell.server_extra import require_server_extra

_HOST = "127.0.0.1"


@click.command("web", short_help="Show this machine's lender and devices in a browser.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=9401,
    show_default=True,
    metavar="N",
    help="Of 127.0.0.1; 0: a free one. Other users of this machine can open it, too.",
)
@state_dir_option
def memory_web_command(port: int, folder: Path | None) -> None:
    """Serve a page with who lends and who borrows, and figures for Prometheus at /metrics, until
    Ctrl-C. The figures are those of this user's lender and devices on this machine.

    \b
    Example:
      motet memory web --port 9401
    """
    require_server_extra("; 'motet memory status' needs none of them")
    import uvicorn

    from motet.interfaces.server.memory.local_site import local_site
    from motet.remote_memory.swap.local_memory import LocalMemory

    place = memory_folder(folder)
    place.secret()
    app = local_site(socket.gethostname(), lambda: LocalMemory.ask(place))
    with _listening(port) as listener:
        click.echo(f"http://{_HOST}:{listener.getsockname()[1]}/")
        config = uvicorn.Config(app, ws="none", log_level="warning", access_log=False)
        uvicorn.Server(config).run([listener])


def _listening(port: int) -> socket.socket:
    """Raises BadInput: the port is in use."""
    try:
        return socket.create_server((_HOST, port))
    except OSError as error:
        raise BadInput(f"--port {port}: {error.strerror}; give another port") from error
