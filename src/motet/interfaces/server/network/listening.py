"""The listening socket of the server, and how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from urllib.parse import urlsplit

import uvicorn

from motet.domain.errors import BadInput
from motet.interfaces.server.network.connections import REQUEST_WITHIN_S
from motet.interfaces.server_address import ADDRESS_FILE


class HttpServer(uvicorn.Server):
    """Ends what would last long before it waits for the ends of all requests."""

    def __init__(
        self, config: uvicorn.Config, on_exit: Callable[[], None], on_end: Callable[[], None]
    ) -> None:
        """`on_exit`: is called when it begins to end, `on_end`: after the last request."""
        super().__init__(config)
        self._on_exit, self._on_end = on_exit, on_end

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn. Who connects and says nothing is disconnected, also before TLS is agreed."""
        if self.config.is_ssl:
            loop = asyncio.get_running_loop()
            create = partial(loop.create_server, ssl_handshake_timeout=REQUEST_WITHIN_S)
            loop.create_server = create  # type: ignore[method-assign]
        await super().startup(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn, which ends the process by the signal after this."""
        await super().shutdown(sockets)
        self._on_end()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """See uvicorn."""
        self._on_exit()
        super().handle_exit(sig, frame)


def listener_at(host: str, port: int) -> socket.socket:
    """A listening socket. `host`: an IP address. Raises BadInput."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small packets at once (TCP_NODELAY) only where the protocol is named.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()  # From now on clients wait in the queue instead of being refused.
    except OSError as error:
        raise BadInput(
            f"--host {host}, --port {port}: {error.strerror}; give another port, or 0 for a free "
            "one"
        ) from error
    return listener


def last_port(folder: Path) -> int:
    """The port of the server before, which open pages and clients know; 0: there was none."""
    try:
        told = json.loads((folder / ADDRESS_FILE).read_text(encoding="utf-8"))
        return urlsplit(str(told["url"])).port or 0
    except (OSError, ValueError, KeyError, TypeError):  # Damaged; it is written anew.
        return 0


def listener_for(host: str, port: int, folder: Path) -> socket.socket:
    """As `listener_at`; with port 0 at that of the server before, unless another program has it."""
    if not port and (last := last_port(folder)):
        with suppress(BadInput):
            return listener_at(host, last)
    return listener_at(host, port)


def tell_clients(folder: Path, url: str, certificate: Path | None) -> None:
    """Commands of the same user find the server by this file. `certificate`: its own, if any."""
    temporary = folder / f".{ADDRESS_FILE}.{os.getpid()}"
    told = {"url": url, "pid": os.getpid(), "machine": socket.gethostname()}
    if certificate is not None:
        told["certificate"] = str(certificate.absolute())
    temporary.write_text(json.dumps(told), encoding="utf-8")
    temporary.replace(folder / ADDRESS_FILE)
