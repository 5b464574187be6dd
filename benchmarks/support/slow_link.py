"""A relay that limits the rate of each direction: the network link of a machine."""

from __future__ import annotations

import multiprocessing
import socket
import threading
import time
from multiprocessing.connection import Connection as Pipe
from types import TracebackType
from typing import Self

from motet.transport import Endpoint

CHUNK_BYTES = 1 << 14


class SlowLink:
    """Relays TCP connections to a server, in a process of its own, as long as it lasts."""

    def __init__(self, server: Endpoint, bytes_per_s: float) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        self._process = context.Process(
            target=_relay, args=(server.host, server.port, bytes_per_s, theirs), daemon=True
        )
        self._process.start()
        self._pipe = ours
        self.endpoint = Endpoint("127.0.0.1", ours.recv())

    def sent_bytes(self) -> tuple[int, int]:
        """To the server and back, so far."""
        self._pipe.send(None)
        found: tuple[int, int] = self._pipe.recv()
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.join()


class _Direction:
    """All connections share its rate."""

    def __init__(self, bytes_per_s: float) -> None:
        self._bytes_per_s = bytes_per_s
        self._lock = threading.Lock()
        self._free_s = 0.0
        self.sent_bytes = 0

    def pump(self, source: socket.socket, target: socket.socket) -> None:
        while data := source.recv(CHUNK_BYTES):
            with self._lock:
                self._free_s = max(self._free_s, time.monotonic()) + len(data) / self._bytes_per_s
                due_s = self._free_s
                self.sent_bytes += len(data)
            time.sleep(max(due_s - time.monotonic(), 0))
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def _relay(host: str, port: int, bytes_per_s: float, pipe: Pipe) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    up, down = _Direction(bytes_per_s), _Direction(bytes_per_s)
    threading.Thread(target=_report, args=(up, down, pipe), daemon=True).start()
    pipe.send(listener.getsockname()[1])
    while True:
        client, _ = listener.accept()
        server = socket.create_connection((host, port))
        for each in (client, server):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 18)
        threading.Thread(target=up.pump, args=(client, server), daemon=True).start()
        threading.Thread(target=down.pump, args=(server, client), daemon=True).start()


def _report(up: _Direction, down: _Direction, pipe: Pipe) -> None:
    while True:
        pipe.recv()
        pipe.send((up.sent_bytes, down.sent_bytes))
