"""Figures of this machine's lender and devices for Prometheus: `motet memory lend --metrics PORT`
and `motet memory status --prometheus`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from motet.domain.errors import BadInput
from motet.interfaces.cli.shell.server_extra import require_server_extra

if TYPE_CHECKING:
    from motet.remote_memory.swap.local_memory import LocalMemory
    from motet.remote_memory.wire.memory_views import LenderView


def show_metrics(view: Callable[[], LenderView], port: int) -> None:
    """Serve them from a thread, until this process ends. Raises BadInput: the port is in use."""
    require_server_extra()
    import socket

    from prometheus_client import CollectorRegistry, start_http_server

    from motet.interfaces.server.memory.lender_figures import LenderFigures

    registry = CollectorRegistry()
    registry.register(LenderFigures(socket.gethostname(), view))
    try:
        start_http_server(port, "127.0.0.1", registry)
    except OSError as error:
        raise BadInput(f"--metrics {port}: {error.strerror}; give another port") from error


def print_metrics(memory: LocalMemory) -> None:
    """In the text format, for example for the textfile collector of node_exporter."""
    require_server_extra("; 'motet memory status --json' needs none of them")
    import socket

    from motet.interfaces.server.memory.local_figures import local_text

    click.echo(local_text(socket.gethostname(), lambda: memory), nl=False)
