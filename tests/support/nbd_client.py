"""A small NBD client for tests, written from the protocol's description."""

from __future__ import annotations

import socket
import struct
from pathlib import Path
from typing import NamedTuple

READ, WRITE, DISCONNECT, FLUSH, TRIM, WRITE_ZEROES = 0, 1, 2, 3, 4, 6
FUA, NO_HOLE = 1, 2


class OptionAnswer(NamedTuple):
    option: int
    kind: int
    data: bytes


class NbdClient:
    """Connects, and speaks as far as a test wants. A context manager."""

    def __init__(self, path: Path, flags: int = 3) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(path))
        self.greeting = struct.unpack(">QQH", self.exactly(18))
        self.sock.sendall(struct.pack(">I", flags))
        self.cookie = 0

    def exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self.sock.recv(count - len(data))
            if not part:
                raise ConnectionResetError(f"the server disconnected after {data!r}")
            data += part
        return data

    def option(self, number: int, data: bytes = b"") -> OptionAnswer:
        """Send an option and receive the first answer."""
        self.sock.sendall(struct.pack(">QII", 0x49484156454F5054, number, len(data)) + data)
        return self.answer()

    def answer(self) -> OptionAnswer:
        magic, option, kind, length = struct.unpack(">QIII", self.exactly(20))
        assert magic == 0x3E889045565A9
        return OptionAnswer(option, kind, self.exactly(length))

    def go(self, name: bytes = b"") -> dict[int, bytes]:
        """Begin to send requests; the server's information by type."""
        found = self.option(7, struct.pack(">I", len(name)) + name + struct.pack(">H", 0))
        information = {}
        while found.kind == 3:
            information[struct.unpack_from(">H", found.data)[0]] = found.data[2:]
            found = self.answer()
        assert found.kind == 1, found
        return information

    def export_name(self, name: bytes = b"") -> tuple[int, int]:
        """The old way to begin; size and flags."""
        self.sock.sendall(struct.pack(">QII", 0x49484156454F5054, 1, len(name)) + name)
        size, flags = struct.unpack(">QH", self.exactly(10))
        return size, flags

    def request(
        self, command: int, offset: int = 0, length: int = 0, data: bytes = b"", flags: int = 0
    ) -> bytes:
        """The bytes of a request with the next cookie."""
        self.cookie += 1
        head = struct.pack(
            ">IHHQQI", 0x25609513, flags, command, self.cookie, offset, length or len(data)
        )
        return head + data

    def send(self, *requests: bytes) -> None:
        self.sock.sendall(b"".join(requests))

    def reply(self) -> tuple[int, int]:
        """Error and cookie of the next reply."""
        magic, error, cookie = struct.unpack(">IIQ", self.exactly(16))
        assert magic == 0x67446698
        return error, cookie

    def call(
        self, command: int, offset: int = 0, length: int = 0, data: bytes = b"", flags: int = 0
    ) -> tuple[int, bytes]:
        """Send a request and wait; the error and what was read."""
        self.send(self.request(command, offset, length, data, flags))
        error, cookie = self.reply()
        assert cookie == self.cookie
        return error, self.exactly(length) if command == READ and not error else b""

    def __enter__(self) -> NbdClient:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.sock.close()
