"""The listening socket of the server, and how it ends."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import uvicorn

from motet.domain.errors import BadInput
from motet.interfaces.server.web.changes import Changes
from motet.interfaces.server_address import ADDRESS_FILE


class HttpServer(uvicorn.Server):
    """Ends the streams of open pages before it waits for the ends of all requests."""

    def __init__(
        self, config: uvicorn.Config, changes: Changes, on_end: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._changes, self._on_end = changes, on_end

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn, which ends the process by the signal after this."""
        await super().shutdown(sockets)
        self._on_end()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """See uvicorn."""
        self._changes.close()
        super().handle_exit(sig, frame)


def listener_at(port: int) -> socket.socket:
    """A listening socket on 127.0.0.1. Raises BadInput."""
    # asyncio sends small packets at once (TCP_NODELAY) only where the protocol is named.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()  # From now on clients wait in the queue instead of being refused.
    except OSError as error:
        raise BadInput(
            f"--port {port}: {error.strerror}; give another port, or 0 for a free one"
        ) from error
    return listener


def tell_clients(folder: Path, url: str) -> None:
    """Commands of the same user find the server by this file."""
    temporary = folder / f".{ADDRESS_FILE}.{os.getpid()}"
    temporary.write_text(json.dumps({"url": url, "pid": os.getpid()}), encoding="utf-8")
    temporary.replace(folder / ADDRESS_FILE)
