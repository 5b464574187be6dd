"""The eight messages of the chapter's placement and eviction (2.6.1), each with a version.

    device                         lender
      QUERY_MEM              ──▶
                             ◀──   FREE_MEM
      MAP                    ──▶
                             ◀──   MR_INFO
      LISTEN                 ──▶                 (kept open: lenders do not connect to devices)
                             ◀──   CHECK_ACTIVITY, or EVICT
      ACTIVITY, or DONE      ──▶

Numbers are little-endian. A message with another version is refused with both versions.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from enum import IntEnum
from typing import Any, ClassVar, NamedTuple, Protocol, Self

from motet.domain.errors import MotetError

VERSION = 1
TOKEN_BYTES = 16
MAX_SLABS = 1 << 16
"""Most slabs that one message names."""
_HEAD = struct.Struct("<BB")
_COUNT = struct.Struct("<I")
_KEY = struct.Struct(f"<{TOKEN_BYTES}sQ")
_RATE = struct.Struct(f"<{TOKEN_BYTES}sQd")


class BadMemoryMessage(MotetError):
    """Bytes that are not a message of this version."""


class MemoryMessageKind(IntEnum):
    """Kinds of requests and of replies (their status). LISTEN and what follows are Motet's."""

    QUERY_MEM = 1
    FREE_MEM = 2
    MAP = 3
    MR_INFO = 4
    CHECK_ACTIVITY = 5
    ACTIVITY = 6
    EVICT = 7
    DONE = 8
    LISTEN = 16
    WRITE_PAGES = 32
    READ_PAGES = 33


class SlabKey(NamedTuple):
    """A mapping, as both ends name it."""

    token: bytes
    generation: int


class MemoryMessage(Protocol):
    """One of the eight messages."""

    kind: ClassVar[MemoryMessageKind]

    def encode(self) -> bytes:
        """With the version."""
        ...


@dataclass(frozen=True)
class _Fields:
    """A message whose fields are those of its layout, in this order."""

    kind: ClassVar[MemoryMessageKind]
    layout: ClassVar[struct.Struct]

    def encode(self) -> bytes:
        """See MemoryMessage."""
        return _HEAD.pack(VERSION, self.kind) + self.layout.pack(*astuple(self))

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Raises BadMemoryMessage."""
        return cls(*_unpacked(cls.layout, _body(data, cls.kind)))


@dataclass(frozen=True)
class QueryMem(_Fields):
    """How many slabs of this size could the device have?"""

    kind: ClassVar = MemoryMessageKind.QUERY_MEM
    layout: ClassVar = struct.Struct("<Q")
    slab_bytes: int


@dataclass(frozen=True)
class FreeMem(_Fields):
    """`free_slabs`: that the device can map now; 0 also if the sizes differ."""

    kind: ClassVar = MemoryMessageKind.FREE_MEM
    layout: ClassVar = struct.Struct("<QQ")
    free_slabs: int
    slab_bytes: int


@dataclass(frozen=True)
class MapSlab(_Fields):
    """The device takes one slab."""

    kind: ClassVar = MemoryMessageKind.MAP
    layout: ClassVar = struct.Struct("<Q")
    slab_bytes: int


@dataclass(frozen=True)
class MrInfo(_Fields):
    """How to reach the slab; `length` 0: the lender has none left for this device."""

    kind: ClassVar = MemoryMessageKind.MR_INFO
    layout: ClassVar = struct.Struct(f"<{TOKEN_BYTES}sQQ")
    token: bytes
    generation: int
    length: int


NO_SLAB = MrInfo(bytes(TOKEN_BYTES), 0, 0)


@dataclass(frozen=True)
class _Slabs:
    """A message that names slabs."""

    kind: ClassVar[MemoryMessageKind]
    slabs: tuple[SlabKey, ...]

    def encode(self) -> bytes:
        """See MemoryMessage."""
        keys = b"".join(_KEY.pack(*key) for key in self.slabs)
        return _HEAD.pack(VERSION, self.kind) + _COUNT.pack(len(self.slabs)) + keys

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Raises BadMemoryMessage."""
        entries = _entries(_KEY, _body(data, cls.kind))
        return cls(tuple(SlabKey(*fields) for fields in entries))


class CheckActivity(_Slabs):
    """How active are these slabs?"""

    kind: ClassVar = MemoryMessageKind.CHECK_ACTIVITY


class EvictSlabs(_Slabs):
    """The lender needs these slabs; the device answers each with DONE."""

    kind: ClassVar = MemoryMessageKind.EVICT


class EvictionDone(_Slabs):
    """No request of the device for these slabs is in flight, and none will be sent."""

    kind: ClassVar = MemoryMessageKind.DONE


@dataclass(frozen=True)
class ReportActivity:
    """Pages per second by slab; a slab that the device does not have any more is left out."""

    kind: ClassVar = MemoryMessageKind.ACTIVITY
    rates: tuple[tuple[SlabKey, float], ...]

    def encode(self) -> bytes:
        """See MemoryMessage."""
        entries = b"".join(_RATE.pack(*key, rate) for key, rate in self.rates)
        return _HEAD.pack(VERSION, self.kind) + _COUNT.pack(len(self.rates)) + entries

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Raises BadMemoryMessage."""
        entries = _entries(_RATE, _body(data, cls.kind))
        return cls(tuple((SlabKey(token, number), rate) for token, number, rate in entries))


def _body(data: bytes, kind: MemoryMessageKind) -> bytes:
    if len(data) < _HEAD.size:
        raise BadMemoryMessage(f"{kind.name}: {len(data)} bytes are too short")
    version, found = _HEAD.unpack_from(data)
    if version != VERSION:
        raise BadMemoryMessage(
            f"{kind.name}: the peer speaks version {version} of the memory messages, this process "
            f"version {VERSION}; run the same version of Motet on both"
        )
    if found != kind:
        raise BadMemoryMessage(f"{kind.name}: the message has the kind {found}")
    return data[_HEAD.size :]


def _unpacked(form: struct.Struct, body: bytes) -> tuple[Any, ...]:
    if len(body) != form.size:
        raise BadMemoryMessage(f"a body of {len(body)} bytes, expected {form.size}")
    return form.unpack(body)


def _entries(form: struct.Struct, body: bytes) -> Sequence[tuple[Any, ...]]:
    if len(body) < _COUNT.size:
        raise BadMemoryMessage(f"a list in {len(body)} bytes")
    (count,) = _COUNT.unpack_from(body)
    if count > MAX_SLABS or len(body) != _COUNT.size + count * form.size:
        raise BadMemoryMessage(f"a list of {count} slabs in {len(body)} bytes")
    return list(form.iter_unpack(body[_COUNT.size :]))
