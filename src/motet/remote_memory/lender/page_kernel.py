"""The compiled loop of a lender: reads and writes of pages whose frames have arrived.

Plain are complete requests for pages of a known mapping, with their content in the frame or in
memory that the client lends. The first request that is not plain ends the loop: a Python handler
answers it, and tells the client what is wrong with it. So nothing here is an error.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from motet.domain.arrays import Bytes, Unsigned
from motet.remote_memory.wire.memory_messages import TOKEN_BYTES, MemoryMessageKind
from motet.remote_memory.wire.page_requests import (
    MAX_TRANSFER_BYTES,
    PAGE_REQUEST_BYTES,
    PAGE_REQUEST_VERSION,
)
from motet.transport.frame_reader import SMALL_PAYLOAD_BYTES
from motet.transport.framing import HEADER_BYTES, JOIN_BYTES, SHARED_PAYLOAD
from motet.transport.native.c_library import Count, Word
from motet.transport.native.compiled import njit
from motet.transport.native.frame_bytes import (
    FrameHead,
    first_reference,
    frame_head,
    load_word,
    meta_place,
    store_reply_head,
)
from motet.transport.native.guarded_memory import copy_into, copy_out

MAPPING_ROWS, SEGMENT_ROWS = 256, 16
_WRITE, _READ = int(MemoryMessageKind.WRITE_PAGES), int(MemoryMessageKind.READ_PAGES)
_TOKEN_AT = 1
_GENERATION_AT = _TOKEN_AT + TOKEN_BYTES
_OFFSET_AT, _LENGTH_AT = _GENERATION_AT + 8, _GENERATION_AT + 16
"""In a head of `page_requests`, behind its version."""
_NONE = np.uint64(0)
_MOST_BYTES, _JOIN_BYTES = np.uint64(MAX_TRANSFER_BYTES), np.uint64(JOIN_BYTES)
_SHARED = np.uint64(SHARED_PAYLOAD)


class PlainPages(NamedTuple):
    """A request for pages. `next_place`, `content_place`: in the buffer, where the next frame and
    the content, if any, begin. `record`: of the slab's guarded memory. `offset`: in the slab.
    `lent`: the address of the content in the client's memory. Words that are 0: there is none."""

    is_plain: bool
    is_write: bool
    next_place: Count
    content_place: Count
    operation: Word
    record: Word
    offset: Word
    length: Word
    lent: Word


class ServedPages(NamedTuple):
    """`read_to`: where the first request begins that was not answered; `reply_bytes`: to the
    others. `is_unknown`: whether that one is for a mapping that is not in the table."""

    read_to: Count
    reply_bytes: Count
    is_unknown: bool


@njit(cache=True, nogil=True)
def serve_pages(
    received: Bytes,
    start: Count,
    end: Count,
    mappings: Unsigned,
    segments: Unsigned,
    replies: Bytes,
) -> ServedPages:
    """Answer plain requests in their order, as many as `replies` has room for.

    `mappings`: `(MAPPING_ROWS, 4)`, token in two halves, generation and record, a token in the row
    of its first byte; `segments`: `(SEGMENT_ROWS, 3)`, number + 1, address and size.
    """
    filled: Count = 0
    while end - start >= HEADER_BYTES:
        head = frame_head(received, start)
        if not _may_be_plain(head) or end - start < _frame_bytes(head):
            break
        pages = _plain_pages(received, start, head, mappings, segments)
        if not pages.is_plain:
            break
        if pages.record == _NONE:
            return ServedPages(start, filled, True)
        size = _reply_bytes(pages)
        if filled + size > len(replies) or not _transfer(received, pages, replies, filled):
            break
        filled += size
        start = pages.next_place
    return ServedPages(start, filled, False)


@njit(cache=True, nogil=True)
def _may_be_plain(head: FrameHead) -> bool:
    """Whether the frame has the kind and the sizes of a plain request."""
    return bool(
        head.is_frame
        and (head.code == _WRITE or head.code == _READ)
        and head.flags & ~SHARED_PAYLOAD == 0
        and head.references <= 1
        and head.meta_bytes == PAGE_REQUEST_BYTES
        and head.payload_bytes <= _MOST_BYTES
        and _inline_bytes(head) <= SMALL_PAYLOAD_BYTES
    )


@njit(cache=True, nogil=True)
def _inline_bytes(head: FrameHead) -> Count:
    return 0 if head.flags & SHARED_PAYLOAD else np.int64(head.payload_bytes)


@njit(cache=True, nogil=True)
def _frame_bytes(head: FrameHead) -> Count:
    return meta_place(0, head.references) + head.meta_bytes + _inline_bytes(head)


@njit(cache=True, nogil=True)
def _plain_pages(
    received: Bytes, start: Count, head: FrameHead, mappings: Unsigned, segments: Unsigned
) -> PlainPages:
    meta = meta_place(start, head.references)
    is_write, has_lent = head.code == _WRITE, head.references == 1
    length = load_word(received, meta + _LENGTH_AT, 4)
    lent = _lent_address(received, start, segments, length) if has_lent else _NONE
    is_plain = received[meta] == PAGE_REQUEST_VERSION and length != _NONE
    if is_write:
        is_inline = head.flags & SHARED_PAYLOAD == 0
        is_plain &= head.payload_bytes == length and is_inline != has_lent
    else:
        is_plain &= head.payload_bytes == _NONE and head.flags == 0
        is_plain &= length <= _MOST_BYTES and (length > _JOIN_BYTES) == has_lent
    return PlainPages(
        is_plain and has_lent == (lent != _NONE),
        is_write,
        start + _frame_bytes(head),
        meta + head.meta_bytes,
        head.operation,
        _record(received, meta, mappings),
        load_word(received, meta + _OFFSET_AT, 8),
        length,
        lent,
    )


@njit(cache=True, nogil=True)
def _record(received: Bytes, meta: Count, mappings: Unsigned) -> Word:
    """Of the mapping of a request; 0: it is not in the table."""
    token, half = meta + _TOKEN_AT, TOKEN_BYTES // 2
    row = mappings[received[token]]
    is_known = (
        row[0] == load_word(received, token, half)
        and row[1] == load_word(received, token + half, half)
        and row[2] == load_word(received, meta + _GENERATION_AT, 8)
    )
    return row[3] if is_known else _NONE


@njit(cache=True, nogil=True)
def _lent_address(received: Bytes, start: Count, segments: Unsigned, length: Word) -> Word:
    """Of the memory that the frame's reference names; 0: the client lends no such memory."""
    lent = first_reference(received, start)
    number = lent.segment + np.uint64(1)
    row = segments[number % np.uint64(SEGMENT_ROWS)]
    is_inside = row[0] == number and lent.length <= row[2] and lent.offset <= row[2] - lent.length
    return row[1] + lent.offset if is_inside and lent.length == length else _NONE


@njit(cache=True, nogil=True)
def _reply_bytes(pages: PlainPages) -> Count:
    is_short = pages.is_write or pages.lent != _NONE
    return HEADER_BYTES if is_short else HEADER_BYTES + np.int64(pages.length)


@njit(cache=True, nogil=True)
def _transfer(received: Bytes, pages: PlainPages, replies: Bytes, place: Count) -> bool:
    """Copy the content, and put the reply there; False: the mapping does not have these pages, or
    has ended."""
    other, flags, sent_bytes = pages.lent, _NONE, _NONE
    if pages.is_write:
        if other == _NONE:
            other = _address(received, pages.content_place)
        is_done = copy_into(pages.record, pages.offset, other, pages.length)
    else:
        flags, sent_bytes = _SHARED, pages.length
        if other == _NONE:
            flags, other = _NONE, _address(replies, place + HEADER_BYTES)
        is_done = copy_out(pages.record, pages.offset, other, pages.length)
    if is_done:
        store_reply_head(replies, place, flags, pages.operation, sent_bytes)
    return is_done


@njit(cache=True, nogil=True)
def _address(data: Bytes, place: Count) -> Word:
    return np.uint64(data.ctypes.data) + np.uint64(place)
