"""Frames: the wire format of one message. Pure.

    header (32 bytes) | references (lent memory, usually none) | meta | payload

Requests and replies have the same shape. A reply carries the operation id of its request, so
replies may arrive in any order.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from motet.domain.errors import MotetError

Buffer: TypeAlias = bytes | bytearray | memoryview | NDArray[np.generic]

Piece: TypeAlias = bytes | memoryview
"""Bytes to send; a memoryview is flat and of format "B"."""

new_tuple = tuple.__new__
"""Creates a NamedTuple from all its fields in half the time of its own constructor."""

MAGIC = int.from_bytes(b"MOT\x01", "little")
"""The first bytes of every frame; the last one is the protocol's version."""
MAX_META_BYTES = 1 << 26
MAX_PAYLOAD_BYTES = 1 << 36
MAX_REFERENCES = 0xFF
IOV_MAX = 1024
"""Most buffers that one system call takes."""
JOIN_BYTES = 1 << 14
"""Payloads up to this size are copied behind their header: fewer pieces are sent faster."""

_HEADER = struct.Struct("<IBBHIIQQ")
_REFERENCE = struct.Struct("<IQQ")
_LENT_HEAD = struct.Struct(_HEADER.format + _REFERENCE.format.removeprefix("<"))
HEADER_BYTES = _HEADER.size
REFERENCE_BYTES = _REFERENCE.size
_MAX_CODE = 0xFFFF
_MAX_WAIT_US = 0xFFFF_FFFF


class ProtocolError(MotetError):
    """Bytes that are not a frame: the rest of the stream cannot be read."""


# Bits of a header's flags. Plain integers: an IntFlag costs a microsecond per test.
ERROR = 1
"""A reply whose meta names an error (`encode_error`) instead of an answer."""
SHARED_PAYLOAD = 2
"""The payload lies in lent memory; a request's first reference names it."""
ATTACH = 4
"""Not a request: the only reference announces a segment."""
DETACH = 8
"""Not a request: the client has freed the segment of the only reference."""


class Header(NamedTuple):
    """The fixed part of a frame.

    `code` is a request's kind or a reply's status; `wait_us` is a reply's only.
    """

    magic: int
    flags: int
    reference_count: int
    code: int
    wait_us: int
    meta_bytes: int
    operation: int
    payload_bytes: int

    @property
    def prefix_bytes(self) -> int:
        """Bytes between the header and an inline payload."""
        return self.reference_count * REFERENCE_BYTES + self.meta_bytes

    @property
    def inline_bytes(self) -> int:
        """Payload bytes that travel on the stream itself."""
        return 0 if self.flags & SHARED_PAYLOAD else self.payload_bytes


class Reference(NamedTuple):
    """A range of a lent segment."""

    segment: int
    offset: int
    length: int


def check_limits(code: int, meta_bytes: int, payload_bytes: int) -> None:
    """Raise ValueError for a code or a size beyond the limits of a frame."""
    if not 0 <= code <= _MAX_CODE:
        raise ValueError(f"kind or status {code}: must be 0..{_MAX_CODE}")
    if meta_bytes > MAX_META_BYTES:
        raise ValueError(f"meta of {meta_bytes} bytes, at most {MAX_META_BYTES}; send a payload")
    if payload_bytes > MAX_PAYLOAD_BYTES:
        raise ValueError(f"payload of {payload_bytes} bytes, at most {MAX_PAYLOAD_BYTES}; split it")


def encode_header(
    code: int,
    flags: int,
    operation: int,
    reference_count: int,
    meta_bytes: int,
    payload_bytes: int,
    wait_us: int = 0,
) -> bytes:
    """Return the 32 bytes that start a frame. The fields have passed `check_limits`."""
    if wait_us > _MAX_WAIT_US:
        wait_us = _MAX_WAIT_US
    return _HEADER.pack(
        MAGIC, flags, reference_count, code, wait_us, meta_bytes, operation, payload_bytes
    )


def decode_header(data: bytes | bytearray | memoryview, offset: int = 0) -> Header:
    """Decode a header at an offset. Raises ProtocolError if its magic or sizes are invalid."""
    header = new_tuple(Header, _HEADER.unpack_from(data, offset))
    if header.magic != MAGIC:
        raise ProtocolError(
            f"a frame starts with {header.magic:#010x}, expected {MAGIC:#010x}: "
            "both ends must run the same version of Motet"
        )
    if header.meta_bytes > MAX_META_BYTES or header.payload_bytes > MAX_PAYLOAD_BYTES:
        raise ProtocolError(
            f"a frame announces {header.meta_bytes} bytes of meta and {header.payload_bytes} of "
            f"payload; at most {MAX_META_BYTES} and {MAX_PAYLOAD_BYTES}"
        )
    return header


def encode_references(references: Iterable[Reference]) -> bytes:
    """Encode references, one after the other."""
    return b"".join(_REFERENCE.pack(*reference) for reference in references)


def encode_lent_request(code: int, operation: int, payload: Reference, meta: bytes) -> bytes:
    """A request whose payload lies in lent memory. The fields have passed `check_limits`."""
    head = _LENT_HEAD.pack(
        *(MAGIC, SHARED_PAYLOAD, 1, code, 0, len(meta), operation, payload.length), *payload
    )
    return head + meta


def decode_references(data: bytes | memoryview) -> list[Reference]:
    """Decode all references in the data."""
    return [Reference(*fields) for fields in _REFERENCE.iter_unpack(data)]


def encode_error(error: BaseException) -> bytes:
    """Encode an error as a reply's meta: the name of its MotetError class, then its text."""
    if isinstance(error, MotetError):
        return f"{type(error).__name__}\n{error}".encode()
    return f"{MotetError.__name__}\n{type(error).__name__}: {error}".encode()


def decode_error(meta: bytes) -> MotetError:
    """Decode a peer's error; an unknown class becomes a plain MotetError."""
    name, _, text = meta.decode(errors="replace").partition("\n")
    known = {found.__name__: found for found in _subclasses(MotetError)}
    error_type = known.get(name, MotetError)
    error = error_type.__new__(error_type, text)
    Exception.__init__(error, text)
    return error


def _subclasses(root: type[MotetError]) -> list[type[MotetError]]:
    return [root] + [member for child in root.__subclasses__() for member in _subclasses(child)]


def byte_view(buffer: Buffer) -> memoryview:
    """Return a flat view of a contiguous buffer's bytes, without copying.

    Raises ValueError if it is not C-contiguous.
    """
    view = buffer.data if isinstance(buffer, np.ndarray) else memoryview(buffer)
    try:
        return view.cast("B")
    except (TypeError, ValueError):
        return _uncastable_byte_view(buffer, view)


def writable_view(buffer: Buffer) -> memoryview:
    """Return the same view of a destination. Raises ValueError if it is read-only."""
    view = byte_view(buffer)
    if view.readonly and view.nbytes:
        raise ValueError("a destination is read-only")
    return view


def _uncastable_byte_view(buffer: Buffer, view: memoryview) -> memoryview:
    """Return the view for buffers that `memoryview.cast` rejects: empty or of structured dtype."""
    if not view.c_contiguous:
        raise ValueError(
            f"a buffer of shape {view.shape} and strides {view.strides} is not contiguous; "
            "pass numpy.ascontiguousarray(...) of it"
        )
    if view.nbytes == 0:
        return _NOTHING
    return np.asarray(buffer).reshape(-1).view(np.uint8).data


def advance(pieces: Sequence[Piece], start: int, done_bytes: int) -> tuple[int, memoryview]:
    """Return the position after the first `done_bytes` of `pieces[start:]`.

    The position is the index of the first unfinished piece and the rest of that piece;
    `(len(pieces), empty)` at the end.
    """
    index = start
    while index < len(pieces) and done_bytes >= len(pieces[index]):
        done_bytes -= len(pieces[index])
        index += 1
    rest = memoryview(pieces[index])[done_bytes:] if index < len(pieces) else _NOTHING
    return index, rest


_NOTHING = memoryview(b"")
