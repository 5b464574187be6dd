"""A link to a server over which nothing arrives any more once it is cut."""

from __future__ import annotations

import contextlib
import socket
import threading
from dataclasses import replace
from types import TracebackType
from typing import Self

from motet.transport import Endpoint


class LinkToCut:
    """Forwards bytes between clients and a server; `endpoint` is the server's for the clients.

    Once it is cut, connections break and no new ones can be made, as in a network partition that
    TCP has noticed. While it is held, bytes wait, as if the server was stopped. The server itself
    goes on. `send`: bytes to the server that no client has sent.
    """

    def __init__(self, target: Endpoint) -> None:
        self._target = (target.host, target.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = replace(target, port=self._listener.getsockname()[1], unix_name="")
        self._lock = threading.Lock()
        self._is_cut = False
        self._flows = threading.Event()
        self._flows.set()
        self._servers: list[socket.socket] = []
        self._sockets: list[socket.socket] = []
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()

    def hold(self) -> None:
        self._flows.clear()

    def send(self, data: bytes) -> None:
        with self._lock:
            for each in self._servers:
                each.sendall(data)

    def cut(self) -> None:
        self._flows.set()
        with self._lock:
            self._is_cut = True
            found = [self._listener, *self._sockets]
        for each in found:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.cut()
        self._acceptor.join()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._target)
            with self._lock:
                self._sockets += [client, server]
                self._servers.append(server)
                if self._is_cut:
                    client.close()
                    server.close()
            for pair in ((client, server), (server, client)):
                threading.Thread(target=_pump, args=(*pair, self._flows), daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket, flows: threading.Event) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            flows.wait()
            sink.sendall(data)
    for each in (source, sink):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
