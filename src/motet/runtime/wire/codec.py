"""Messages to bytes and back: the one place where control messages are encoded and decoded.

A message's head is JSON, `[version, name, fields]`; arrays follow in the payload.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

from motet.domain.arrays import Array
from motet.runtime.wire.array_payload import IncomingArrays, OutgoingArrays
from motet.runtime.wire.errors import BadMessage
from motet.runtime.wire.forms import form_of

PROTOCOL_VERSION = 1
_NO_PAYLOAD = memoryview(b"")

M = TypeVar("M")


def encode(message: Any) -> tuple[bytes, list[Array]]:
    """A message's head and the arrays of its payload, which are not copied if contiguous."""
    arrays = OutgoingArrays()
    fields = form_of(type(message)).pack(message, arrays)
    parts = [PROTOCOL_VERSION, type(message).__name__, fields]
    return json.dumps(parts, separators=(",", ":")).encode(), arrays.buffers


def decode(expected: type[M], head: bytes | memoryview, payload: memoryview = _NO_PAYLOAD) -> M:
    """The inverse of `encode`; copies out of `payload`.

    Raises BadMessage for everything that is not an `expected` of this protocol version.
    """
    fields = _fields(expected.__name__, bytes(head))
    arrays = IncomingArrays(payload)
    message: M = form_of(expected).unpack(fields, arrays)
    arrays.finish()
    return message


def _fields(expected: str, head: bytes) -> Any:
    try:
        parts = json.loads(head.decode())
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"{head[:40]!r} is no message: {type(error).__name__}") from error
    match parts:
        case [int(version), str(name), fields] if version == PROTOCOL_VERSION and name == expected:
            return fields
        case [int(version), str(name), _] if version == PROTOCOL_VERSION:
            raise BadMessage(f"{name[:40]!r} came where {expected} is expected")
        case [int(version), *_] if version != PROTOCOL_VERSION:
            raise BadMessage(
                f"{expected} has protocol version {version}, this process {PROTOCOL_VERSION}; all "
                "machines of a cluster must run the same version of Motet"
            )
    raise BadMessage(f"{head[:40]!r} is no message with a version, a name and fields")
