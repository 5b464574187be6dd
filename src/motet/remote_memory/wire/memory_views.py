"""What commands ask of lenders and devices, and what they get: JSON, seldom."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import IntEnum
from typing import Any, Self, TypeVar

from motet.remote_memory.wire.memory_messages import BadMemoryMessage

V = TypeVar("V")


class MemoryCommand(IntEnum):
    """Requests of `motet memory`, and USE_TERMS of a live cluster, whose answer is the view."""

    DESCRIBE = 64
    END = 65
    USE_TERMS = 66


@dataclass(frozen=True)
class LenderView:
    """`used_bytes`: of everything else on the machine, as a moving average. `requested_bytes`: that
    jobs have requested and do not use yet. `clients`: slabs by device. `revoked`: evictions without
    an answer. `borrowed_byte_s`: memory times seconds by borrower."""

    address: str
    slab_bytes: int
    total_bytes: int
    used_bytes: int
    head_room_bytes: int
    free_slabs: int
    mapped_slabs: int
    evicting_slabs: int
    evicted: int
    revoked: int
    clients: Mapping[str, int] = field(default_factory=dict)
    requested_bytes: int = 0
    borrowed_byte_s: Mapping[str, float] = field(default_factory=dict)

    def encode(self) -> bytes:
        """As JSON."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Raises BadMemoryMessage."""
        return _view(cls, _fields(data))


@dataclass(frozen=True)
class LendingTerms:
    """`requests`: memory that jobs of the machine have requested, in bytes by process (its folder).
    `jobs`: names of those of the whole cluster that may borrow."""

    requests: Mapping[str, int] = field(default_factory=dict)
    jobs: tuple[str, ...] = ()

    def encode(self) -> bytes:
        """As JSON."""
        return json.dumps({"requests": dict(self.requests), "jobs": self.jobs}).encode()

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Raises BadMemoryMessage."""
        fields = _fields(data)
        try:
            requests = {str(name): int(size) for name, size in fields["requests"].items()}
            return cls(requests, tuple(map(str, fields["jobs"])))
        except (KeyError, AttributeError, TypeError, ValueError) as error:
            raise BadMemoryMessage(f"not the terms of a lender: {error!r}") from error


@dataclass(frozen=True)
class DeviceView:
    """`lenders`: mapped slabs by address, also of lenders without any. `away`: addresses that do
    not answer. Pages count since the start. `disk_error`: the last one, while it lasts.
    `replicated_pages`: that `replicas` lenders have; `repaired_pages`: copied between lenders.
    `prefetched_pages`: read ahead, None without prefetch; `prefetched_used`: read afterwards.
    `failures`: by address, why a lender gives no memory."""

    name: str
    size_bytes: int
    slab_bytes: int
    slabs: int
    mapped_slabs: int
    remote_pages: int
    pending_pages: int
    read_remote_pages: int
    read_local_pages: int
    written_pages: int
    evictions: int
    clients: int
    socket: str
    disk_error: str = ""
    lenders: Mapping[str, int] = field(default_factory=dict)
    away: tuple[str, ...] = ()
    replicas: int = 1
    replicated_pages: int = 0
    repaired_pages: int = 0
    prefetched_pages: int | None = None
    prefetched_used: int = 0
    failures: Mapping[str, str] = field(default_factory=dict)

    def encode(self) -> bytes:
        """As JSON."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Raises BadMemoryMessage."""
        fields = _fields(data)
        away = fields.get("away")
        return _view(cls, {**fields, "away": tuple(away) if isinstance(away, list) else ()})


def _view(view: type[V], fields: dict[str, Any]) -> V:
    try:
        return view(**fields)
    except TypeError as error:
        raise BadMemoryMessage(f"not the description that is expected: {error}") from error


def _fields(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except ValueError as error:
        raise BadMemoryMessage(f"{data[:40]!r} is no description") from error
    if not isinstance(found, dict):
        raise BadMemoryMessage(f"{data[:40]!r} is no description")
    return found
