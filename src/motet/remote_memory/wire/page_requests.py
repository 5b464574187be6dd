"""Heads of the requests for pages: the data path, so structs instead of objects.

The payload of a write, and of the reply to a read, is the content.
"""

from __future__ import annotations

import struct

from motet.domain.errors import MotetError
from motet.remote_memory.wire.memory_messages import TOKEN_BYTES, BadMemoryMessage

PAGE_REQUEST_VERSION = 1
MAX_TRANSFER_BYTES = 1 << 20
"""Largest content of one request."""
_REQUEST = struct.Struct(f"<B{TOKEN_BYTES}sQQI")
PAGE_REQUEST_BYTES = _REQUEST.size


class StaleSlab(MotetError):
    """The mapping of a request does not exist any more: the slab was evicted or revoked."""


def encode_page_request(token: bytes, generation: int, offset: int, length: int) -> bytes:
    """`offset`: in the slab, in bytes."""
    return _REQUEST.pack(PAGE_REQUEST_VERSION, token, generation, offset, length)


def decode_page_request(head: bytes | memoryview) -> tuple[int, bytes, int, int, int]:
    """Version, token, generation, offset, length. Raises BadMemoryMessage."""
    if len(head) != _REQUEST.size or head[0] != PAGE_REQUEST_VERSION:
        raise BadMemoryMessage(
            f"a request for pages with a head of {len(head)} bytes, expected {_REQUEST.size} "
            f"with version {PAGE_REQUEST_VERSION}; run the same version of Motet on both ends"
        )
    return _REQUEST.unpack(head)
