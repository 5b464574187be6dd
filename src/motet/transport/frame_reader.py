"""Reads frames from a byte stream with few system calls and without copying large payloads.

One receive into a buffer returns header, meta and small payload together, often of several frames.
The rest of a large payload is received directly into its destination.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from motet.domain.arrays import Bytes
from motet.transport.channel import ByteSource
from motet.transport.framing import (
    HEADER_BYTES,
    IOV_MAX,
    REFERENCE_BYTES,
    Header,
    advance,
    decode_header,
    new_tuple,
)

BUFFER_BYTES = 1 << 17
SMALL_PAYLOAD_BYTES = 1 << 14
MIN_ROOM_BYTES = 1 << 14


class Frame(NamedTuple):
    """A complete frame.

    `payload` may lie in the reader's buffer (`is_borrowed`): it is valid until the next receive,
    or for good after `FrameReader.keep`.
    """

    header: Header
    references: bytes
    meta: bytes
    payload: memoryview
    is_borrowed: bool


PayloadPlace = Callable[[Header, bytes, bytes], Sequence[memoryview] | None]
"""Returns where the payload of a frame (header, references, meta) goes.

Views that add up to its inline bytes; None leaves a payload of at most `SMALL_PAYLOAD_BYTES` in
the reader's buffer.
"""

_NOTHING = memoryview(b"")


class _Incoming:
    """A frame whose payload is being received."""

    __slots__ = ("header", "index", "meta", "missing_bytes", "references", "rest", "views")

    def __init__(
        self, header: Header, references: bytes, meta: bytes, views: Sequence[memoryview]
    ) -> None:
        self.header = header
        self.references = references
        self.meta = meta
        self.views = views
        self.index, self.rest = advance(views, 0, 0)
        self.missing_bytes = header.inline_bytes

    def destinations(self) -> list[memoryview]:
        """Return the next destinations, as many as one system call takes."""
        return [self.rest, *self.views[self.index + 1 : self.index + IOV_MAX]]

    def take(self, data: memoryview) -> None:
        """Copy received bytes to the destinations."""
        while data:
            count = min(len(data), len(self.rest))
            self.rest[:count] = data[:count]
            self.arrived(count)
            data = data[count:]

    def arrived(self, count: int) -> None:
        """Account for bytes that are at their destinations."""
        self.missing_bytes -= count
        if count < len(self.rest):
            self.rest = self.rest[count:]
            return
        self.index, self.rest = advance(self.views, self.index + 1, count - len(self.rest))

    def frame(self) -> Frame:
        """Return the complete frame; the payload is empty if it was scattered."""
        payload = self.views[0] if len(self.views) == 1 else _NOTHING
        return Frame(self.header, self.references, self.meta, payload, False)


class FrameReader:
    """Reads the frames of one stream, in order. Not thread-safe."""

    def __init__(
        self, source: ByteSource, place: PayloadPlace, buffer_bytes: int = BUFFER_BYTES
    ) -> None:
        self._source = source
        self._place = place
        self._start = 0
        self._end = 0
        self._incoming: _Incoming | None = None
        self._replace_buffer(buffer_bytes)

    def next(self) -> Frame | None:
        """Return the next frame if it is complete, else None: then call `receive` and try again."""
        incoming = self._incoming
        if incoming is None:
            return self._parse() if self._end - self._start >= HEADER_BYTES else None
        if incoming.missing_bytes:
            return None
        self._incoming = None
        return incoming.frame()

    def read(self, limit_bytes: int = BUFFER_BYTES) -> Frame:
        """Return the next frame; see `receive` for the limit and errors.

        May be called again after an error of the source that lost no bytes.
        """
        frame = self.next()
        while frame is None:
            self.receive(limit_bytes)
            frame = self.next()
        return frame

    def receive(self, limit_bytes: int = BUFFER_BYTES) -> None:
        """Receive once; at most `limit_bytes` into the buffer. Raises ConnectionError at the end.

        With a small limit, more of a large payload is received directly into its destination.
        """
        incoming = self._incoming
        if incoming is not None:
            incoming.arrived(self._source.receive_all(incoming.destinations()))
            return
        if self._start == self._end and not self._is_kept:
            self._start = self._end = 0
        else:
            self._make_room()
        self._end += self._source.receive(self._view[self._end : self._end + limit_bytes])

    @property
    def unread(self) -> tuple[Bytes, int, int]:
        """The buffer, and the place in it of what was received behind the last frame."""
        return self._array, self._start, self._end

    def skip_to(self, place: int) -> None:
        """The frames before this place of the buffer were read there."""
        self._start = place

    def keep(self) -> None:
        """Do not overwrite the borrowed payloads returned so far."""
        self._is_kept = True

    def _parse(self) -> Frame | None:
        header = decode_header(self._buffer, self._start)
        references_at = self._start + HEADER_BYTES
        meta_at = references_at + header.reference_count * REFERENCE_BYTES
        payload_at = meta_at + header.meta_bytes
        inline_bytes = header.inline_bytes
        missing_bytes = payload_at + inline_bytes - self._end
        if missing_bytes > 0 and self._end < payload_at + _buffered_part(inline_bytes):
            return None
        references = self._view[references_at:meta_at].tobytes() if header.reference_count else b""
        meta = self._view[meta_at:payload_at].tobytes()
        self._start = payload_at
        if not inline_bytes:
            return new_tuple(Frame, (header, references, meta, _NOTHING, False))
        return self._payload(header, references, meta, inline_bytes)

    def _payload(
        self, header: Header, references: bytes, meta: bytes, inline_bytes: int
    ) -> Frame | None:
        views = self._place(header, references, meta)
        buffered = self._view[self._start : min(self._start + inline_bytes, self._end)]
        self._start += len(buffered)
        if views is None:
            return new_tuple(Frame, (header, references, meta, buffered, True))
        if len(views) == 1 and len(buffered) == inline_bytes:
            views[0][:] = buffered
            return new_tuple(Frame, (header, references, meta, views[0], False))
        self._incoming = _Incoming(header, references, meta, views)
        self._incoming.take(buffered)
        return self.next()

    def _make_room(self) -> None:
        """Make room for the frame that begins at `_start`, and for MIN_ROOM_BYTES at least.

        Moves buffered bytes to the front of the buffer, or of a new one if this one is kept.
        """
        unread_bytes = self._end - self._start
        needed = max(self._needed_bytes(), unread_bytes + MIN_ROOM_BYTES)
        if self._start + needed <= len(self._buffer):
            return
        unread = self._view[self._start : self._end]
        if self._is_kept or needed > len(self._buffer):
            self._replace_buffer(max(needed, BUFFER_BYTES))
        self._view[:unread_bytes] = unread
        self._start, self._end = 0, unread_bytes

    def _needed_bytes(self) -> int:
        """Return how many bytes must be buffered before the next frame can be parsed."""
        if self._end - self._start < HEADER_BYTES:
            return HEADER_BYTES
        header = decode_header(self._buffer, self._start)
        return HEADER_BYTES + header.prefix_bytes + _buffered_part(header.inline_bytes)

    def _replace_buffer(self, size: int) -> None:
        self._buffer = bytearray(size)
        self._view = memoryview(self._buffer)
        self._array = np.frombuffer(self._buffer, np.uint8)
        self._is_kept = False


def _buffered_part(inline_bytes: int) -> int:
    """Return the part of a payload that must be buffered: a small one entirely, else nothing."""
    return inline_bytes if inline_bytes <= SMALL_PAYLOAD_BYTES else 0
