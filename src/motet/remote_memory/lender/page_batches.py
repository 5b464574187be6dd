"""Requests for pages of one connection: what the compiled loop needs to know of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from motet.domain.arrays import Bytes
from motet.remote_memory.lender.lent_memory import LentMemory
from motet.remote_memory.lender.page_kernel import MAPPING_ROWS, SEGMENT_ROWS, serve_pages
from motet.remote_memory.wire.page_requests import PAGE_REQUEST_BYTES, decode_page_request
from motet.transport.native.frame_bytes import meta_place
from motet.transport.server.batch_handler import BatchReplies

_REPLY_BYTES = 1 << 18
_NOTHING = np.zeros(0, np.uint8)
FindLent: TypeAlias = Callable[[bytes, int], LentMemory | None]
"""By token and generation, for the client of the connection; None: it has no such mapping."""


def load_page_kernel() -> None:
    """Load the loop, or compile it, which takes seconds: not while a client waits."""
    PageBatches(lambda _, __: None).serve(_NOTHING, 0, 0)


class PageBatches:
    """A BatchHandler. It asks `find` for a mapping once, and again after a mapping whose token
    begins with the same byte; a mapping that has ended is refused by its memory."""

    def __init__(self, find: FindLent) -> None:
        self._find = find
        self._mappings = np.zeros((MAPPING_ROWS, 4), np.uint64)
        self._lent: dict[int, LentMemory] = {}
        self._segments = np.zeros((SEGMENT_ROWS, 3), np.uint64)
        self._memory: Mapping[int, Bytes] = {}
        self._replies = np.zeros(_REPLY_BYTES, np.uint8)

    def use_segments(self, segments: Mapping[int, Bytes]) -> None:
        """See BatchHandler."""
        self._segments[:] = 0
        self._memory = dict(segments)  # So long their addresses are valid.
        for number, memory in self._memory.items():
            row = (number + 1, memory.ctypes.data, len(memory))
            self._segments[(number + 1) % SEGMENT_ROWS] = row

    def serve(self, received: Bytes, start: int, end: int) -> BatchReplies:
        """See BatchHandler."""
        replies = b""
        while True:
            served = serve_pages(
                received, start, end, self._mappings, self._segments, self._replies
            )
            start = int(served.read_to)
            replies += self._replies[: served.reply_bytes].tobytes()
            if not served.is_unknown or not self._learn(received, start):
                return BatchReplies(start, replies)

    def _learn(self, received: Bytes, start: int) -> bool:
        """Enter the mapping of the request that begins there, if the client has it."""
        place = meta_place(start, int(received[start + 5]))
        head = received[place : place + PAGE_REQUEST_BYTES].tobytes()
        _, token, generation, _, _ = decode_page_request(head)
        lent = self._find(token, generation)
        if lent is None:
            return False
        self._lent[token[0]] = lent  # So long its record is valid.
        halves = np.frombuffer(token, "<u8")
        self._mappings[token[0]] = [*halves, np.uint64(generation), lent.guarded.record]
        return True
