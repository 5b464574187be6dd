"""A relay between two hosts that attacks one record of a connection."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from motet.transport import Endpoint
from motet.transport.backends.socket_channel import SocketChannel
from motet.transport.backends.tcp import TcpConnector

HANDSHAKE_BYTES = {"to server": (122, 32), "to client": (72, 1)}
"""The sizes of the messages before the first record."""
_LENGTH = struct.Struct("<I")
_TAG_BYTES = 16

Attack = Callable[[list[bytes]], list[bytes]]
"""From the attacked record and the one behind it to what is forwarded."""


def change(pair: list[bytes]) -> list[bytes]:
    middle = len(pair[0]) // 2
    return [pair[0][:middle] + bytes([pair[0][middle] ^ 1]) + pair[0][middle + 1 :], *pair[1:]]


def change_length(pair: list[bytes]) -> list[bytes]:
    return [bytes([pair[0][0] ^ 1]) + pair[0][1:], *pair[1:]]


def repeat(pair: list[bytes]) -> list[bytes]:
    return [pair[0], *pair]


def drop(pair: list[bytes]) -> list[bytes]:
    return pair[1:]


def reorder(pair: list[bytes]) -> list[bytes]:
    return [*reversed(pair)]


def inject(pair: list[bytes]) -> list[bytes]:
    return [_LENGTH.pack(8) + bytes(8 + _TAG_BYTES), *pair]


ATTACKS = (change, change_length, repeat, drop, reorder, inject)


class ExposedConnector(TcpConnector):
    """Takes a loopback connection for one to another host."""

    def connect(self, timeout_s: float) -> SocketChannel:
        channel = super().connect(timeout_s)
        channel.is_exposed = True
        return channel


@dataclass
class Plan:
    """`number`: of the attacked record in its direction, on the first connection.

    `handshakes`: so many connections after the first one have a bit of their handshake changed.
    """

    attack: Attack
    direction: str
    number: int
    handshakes: int = 0


class TamperingRelay:
    """Forwards handshakes and records; attacks one record, and then handshakes."""

    def __init__(self, target: Endpoint, plan: Plan) -> None:
        self._target = (target.host, target.port)
        self._plan: Plan | None = plan
        self._attacked_direction = plan.direction
        self._handshakes_left = plan.handshakes
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._socks: list[socket.socket] = []
        self.connection_count = 0
        self.has_attacked = threading.Event()
        self._threads[0].start()

    @property
    def connector(self) -> ExposedConnector:
        return ExposedConnector("127.0.0.1", self._listener.getsockname()[1])

    def close(self) -> None:
        _shut_down(self._listener)
        self._threads[0].join()
        for sock in self._socks:
            _shut_down(sock)
        for thread in self._threads:
            thread.join()
        for sock in (self._listener, *self._socks):
            sock.close()

    def __enter__(self) -> TamperingRelay:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._target)
            self._socks += [client, server]
            self.connection_count += 1
            plan, self._plan = self._plan, None
            is_changed = plan is None and self._handshakes_left > 0
            self._handshakes_left -= is_changed
            for direction, source, sink in (
                ("to server", client, server),
                ("to client", server, client),
            ):
                own = plan if plan is not None and plan.direction == direction else None
                pump = threading.Thread(
                    target=self._pump,
                    args=(source, sink, direction, own, is_changed),
                    daemon=True,
                )
                self._threads.append(pump)
                pump.start()

    def _pump(
        self,
        source: socket.socket,
        sink: socket.socket,
        direction: str,
        plan: Plan | None,
        is_changed: bool,
    ) -> None:
        with contextlib.suppress(OSError, EOFError):
            for number, size in enumerate(HANDSHAKE_BYTES[direction]):
                message = _exactly(source, size)
                if is_changed and number == 0 and direction == self._attacked_direction:
                    [message] = change([message])
                sink.sendall(message)
            records = _records(source)
            for number, record in enumerate(records):
                if plan is None or number != plan.number:
                    sink.sendall(record)
                    continue
                pair = [record, next(records)] if plan.attack is reorder else [record]
                self.has_attacked.set()
                for each in plan.attack(pair):
                    sink.sendall(each)
        _shut_down(source)
        _shut_down(sink)


def _records(source: socket.socket) -> Iterator[bytes]:
    while True:
        length = _exactly(source, _LENGTH.size)
        yield length + _exactly(source, _LENGTH.unpack(length)[0] + _TAG_BYTES)


def _exactly(source: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        some = source.recv(size - len(data))
        if not some:
            raise EOFError
        data += some
    return bytes(data)


def _shut_down(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
