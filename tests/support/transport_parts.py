"""Parts of transport tests: an echoing handler, a proxy that breaks connections, a real process."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence

from motet.transport import Connection, DirectConnection, Endpoint, Handler, Request

ECHO = 1

Connect = Callable[[Handler], Connection | DirectConnection]

SERVE_FOREVER = """
import sys
from motet.transport import Server
from transport_parts import echo
with Server(echo, bytes.fromhex(sys.argv[1])) as server:
    print(server.endpoint.encode(), flush=True)
    sys.stdin.read()
"""


def echo(request: Request) -> None:
    """Send the request's meta and payload back; the kind is the status."""
    request.reply(request.kind, request.meta, [request.payload])


@contextlib.contextmanager
def process_serving(secret: bytes, program: str = SERVE_FOREVER) -> Iterator[tuple[Endpoint, int]]:
    """A server in a process of its own: its endpoint and process id."""
    command = [sys.executable, "-c", program, secret.hex()]
    environment_path = {"PYTHONPATH": ":".join(path for path in sys.path if path)}
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment_path,
    ) as process:
        assert process.stdout is not None
        try:
            yield Endpoint.decode(process.stdout.readline()), process.pid
        finally:
            process.send_signal(signal.SIGKILL)


class FlakyProxy:
    """Forwards bytes to a server; its n-th connection breaks after `breaks[n]` bytes in total.

    None: it is silent until the client gives it up. Connections beyond the list do not break.
    """

    def __init__(self, target: Endpoint, breaks: Sequence[int | None]) -> None:
        self._target = (target.host, target.port)
        self._breaks = list(breaks)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._socks: list[socket.socket] = []
        self.connection_count = 0
        self._threads[0].start()

    @property
    def endpoint(self) -> Endpoint:
        """The address for clients."""
        return Endpoint("127.0.0.1", self._listener.getsockname()[1])

    def break_connections(self) -> None:
        """Break all open connections."""
        for sock in self._socks:
            _shut_down(sock)

    def close(self) -> None:
        """Break all connections and wait for all threads."""
        _shut_down(self._listener)
        self._threads[0].join()
        self.break_connections()
        for thread in self._threads:
            thread.join()
        for sock in (self._listener, *self._socks):
            sock.close()

    def __enter__(self) -> FlakyProxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connection_count += 1
            end = self._breaks.pop(0) if self._breaks else 1 << 62
            if end is None:
                with client:
                    while client.recv(4096):
                        continue
                continue
            server = socket.create_connection(self._target)
            self._socks += [client, server]
            budget = [end]
            for source, sink in ((client, server), (server, client)):
                pump = threading.Thread(target=_pump, args=(source, sink, budget), daemon=True)
                self._threads.append(pump)
                pump.start()


def _pump(source: socket.socket, sink: socket.socket, budget: list[int]) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(4096):
            allowed = data[: max(budget[0], 0)]
            budget[0] -= len(data)
            sink.sendall(allowed)
            if budget[0] <= 0:
                break
    _shut_down(source)
    _shut_down(sink)


def _shut_down(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
