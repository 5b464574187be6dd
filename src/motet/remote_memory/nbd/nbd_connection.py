"""One NBD client: negotiation, then requests.

A receive takes all requests that have arrived, and one send answers them: this is what makes a
server in Python as fast as others. Before it blocks it polls for as long as a client with one
request at a time takes to send the next one: waking a blocked thread takes longer.
"""

from __future__ import annotations

import socket
import struct

from motet.remote_memory.borrower.store_operation import BatchStore
from motet.remote_memory.nbd.nbd_batch import NbdBatch, NewBuffer
from motet.remote_memory.nbd.nbd_options import NbdExport, NbdNextStep, answer_option
from motet.remote_memory.nbd.nbd_protocol import (
    CLIENT_FLAGS,
    GREETING,
    KNOWN_CLIENT_FLAGS,
    MAX_OPTION_BYTES,
    MAX_REQUEST_BYTES,
    MAX_SKIPPED_BYTES,
    OPTION,
    OPTION_MAGIC,
    REQUEST,
    REQUEST_MAGIC,
    NbdCommand,
)
from motet.transport.backends.socket_channel import SocketChannel
from motet.transport.backends.spin_policy import SpinPolicy

_BUFFER_BYTES = 1 << 20
_LEAST_ROOM_BYTES = _BUFFER_BYTES // 4
_POLL_S = 30e-6
_WAIT_ALL = int(socket.MSG_WAITALL)
_REQUEST_BYTES = REQUEST.size
_NOTHING = memoryview(b"")
_WRITE, _DISCONNECT = int(NbdCommand.WRITE), int(NbdCommand.DISCONNECT)


class NbdViolation(Exception):
    """The client does not speak the protocol: the rest of its bytes cannot be understood."""


class NbdConnection:
    """Serves one connected socket on the calling thread."""

    def __init__(
        self, sock: socket.socket, store: BatchStore, export: NbdExport, new_buffer: NewBuffer
    ) -> None:
        self._sock, self._send = sock, sock.sendall
        self._channel = SocketChannel(sock, SpinPolicy(), spin_for_s=_POLL_S)
        self._export = export
        self._batch = NbdBatch(store, new_buffer)
        self._view = new_buffer(_BUFFER_BYTES)
        self._start = self._end = 0

    def serve(self) -> None:
        """Until the client disconnects. Raises OSError, NbdViolation."""
        if not self._negotiate():
            return
        try:
            while self._process():
                self._answer()
                self._receive()
            self._answer()
        finally:
            # Requests that have begun count in their slabs until they are finished.
            self._batch.finish()

    # -- negotiation -----------------------------------------------------------------------------

    def _negotiate(self) -> bool:
        """Whether requests follow."""
        self._sock.sendall(GREETING)
        (flags,) = CLIENT_FLAGS.unpack(self._exactly(CLIENT_FLAGS.size))
        if flags & ~KNOWN_CLIENT_FLAGS:
            raise NbdViolation(f"flags {flags:#x}")
        step = NbdNextStep.OPTIONS
        while step is NbdNextStep.OPTIONS:
            magic, option, length = OPTION.unpack(self._exactly(OPTION.size))
            if magic != OPTION_MAGIC or length > MAX_OPTION_BYTES:
                raise NbdViolation(f"option {option} of {length} bytes")
            answer, step = answer_option(self._export, flags, option, self._exactly(length))
            self._sock.sendall(answer)
        return step is NbdNextStep.REQUESTS

    def _exactly(self, count: int) -> bytes:
        data = bytearray(count)
        if count:
            self._fill(memoryview(data))
        return bytes(data)

    # -- requests --------------------------------------------------------------------------------

    def _process(self) -> bool:
        """Begin all complete requests in the buffer; False: the client disconnects."""
        batch = self._batch
        while self._end - self._start >= _REQUEST_BYTES:
            magic, flags, command, cookie, offset, length = REQUEST.unpack_from(
                self._view, self._start
            )
            if magic != REQUEST_MAGIC:
                raise NbdViolation(f"a request begins with {magic:#x}")
            if command == _DISCONNECT:
                return False
            data = _NOTHING
            if command == _WRITE:
                found = self._payload(length)
                if found is None:
                    return True
                data = found
            if not batch.has_room(command, length):
                self._answer()
            # The rest of a large write was received elsewhere: nothing is left in the buffer.
            self._start = min(self._start + _REQUEST_BYTES + len(data), self._end)
            batch.begin(command, flags, cookie, offset, length, data)
        return True

    def _payload(self, length: int) -> memoryview | None:
        """The content of a write; None: receive more first."""
        start = self._start + _REQUEST_BYTES
        if start + length <= self._end:
            return self._view[start : start + length]
        if _REQUEST_BYTES + length <= _BUFFER_BYTES:
            return None
        if length > MAX_REQUEST_BYTES:
            return self._skip(length)
        content = memoryview(bytearray(length))
        arrived = self._end - start
        content[:arrived] = self._view[start : self._end]
        self._fill(content[arrived:])
        return content

    def _skip(self, length: int) -> memoryview:
        """Receive a write that is too large, and return nothing. Raises NbdViolation."""
        if length > MAX_SKIPPED_BYTES:
            raise NbdViolation(f"a write of {length} bytes")
        self._answer()
        left_bytes = length - (self._end - self._start - _REQUEST_BYTES)
        while left_bytes:
            part = self._view[: min(left_bytes, _BUFFER_BYTES)]
            self._fill(part)
            left_bytes -= len(part)
        self._start = self._end
        return _NOTHING

    def _receive(self) -> None:
        """Receive what is there; nothing in the buffer is in use any more. Raises OSError."""
        unread_bytes = self._end - self._start
        if not unread_bytes:
            self._start = self._end = 0
        elif _BUFFER_BYTES - self._end < _LEAST_ROOM_BYTES:
            self._view[:unread_bytes] = bytes(self._view[self._start : self._end])
            self._start, self._end = 0, unread_bytes
        room = self._view[self._end :] if self._end else self._view
        self._end += self._channel.receive(room)

    def _answer(self) -> None:
        self._batch.answer(self._send)

    def _fill(self, view: memoryview) -> None:
        while view:
            count = self._sock.recv_into(view, 0, _WAIT_ALL)
            if not count:
                raise ConnectionResetError("the client disconnected")
            view = view[count:]


def peer_user(sock: socket.socket) -> int:
    """The user of the process at the other end of a Unix socket."""
    data = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, user, _ = struct.unpack("3i", data)
    return int(user)
