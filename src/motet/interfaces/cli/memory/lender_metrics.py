"""`motet memory lend --metrics PORT`: figures of this machine's lender for Prometheus."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from motet.domain.errors import BadInput
from motet.interfaces.cli.shell.server_extra import require_server_extra

if TYPE_CHECKING:
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
