"""Heads of frames for compiled loops: the format of `framing`, without its objects."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from motet.domain.arrays import Bytes
from motet.transport.framing import HEADER_BYTES, MAGIC, REFERENCE_BYTES
from motet.transport.native.c_library import Count, Word
from motet.transport.native.compiled import njit

_MAGIC = np.uint64(MAGIC)


class FrameHead(NamedTuple):
    """Of a request; see `framing.Header`. `is_frame`: whether it begins as frames do."""

    is_frame: bool
    flags: Count
    references: Count
    code: Count
    meta_bytes: Count
    operation: Word
    payload_bytes: Word


class LentRange(NamedTuple):
    """See `framing.Reference`."""

    segment: Word
    offset: Word
    length: Word


@njit(cache=True, nogil=True)
def load_word(data: Bytes, place: Count, count: int) -> Word:
    """An unsigned number of so many bytes, the least significant first."""
    value = np.uint64(0)
    for byte in range(count):
        value |= np.uint64(data[place + byte]) << np.uint64(8 * byte)
    return value


@njit(cache=True, nogil=True)
def store_word(data: Bytes, place: Count, count: int, value: Word) -> None:
    """The inverse of `load_word`."""
    rest = value
    for byte in range(count):
        data[place + byte] = np.uint8(rest & np.uint64(0xFF))
        rest >>= np.uint64(8)


@njit(cache=True, nogil=True)
def frame_head(data: Bytes, place: Count) -> FrameHead:
    """There are `HEADER_BYTES` from there on."""
    return FrameHead(
        load_word(data, place, 4) == _MAGIC,
        np.int64(data[place + 4]),
        np.int64(data[place + 5]),
        np.int64(load_word(data, place + 6, 2)),
        np.int64(load_word(data, place + 12, 4)),
        load_word(data, place + 16, 8),
        load_word(data, place + 24, 8),
    )


@njit(cache=True, nogil=True)
def first_reference(data: Bytes, place: Count) -> LentRange:
    """Of the frame that begins there, which has one."""
    at = place + HEADER_BYTES
    return LentRange(
        load_word(data, at, 4), load_word(data, at + 4, 8), load_word(data, at + 12, 8)
    )


@njit(cache=True, nogil=True)
def meta_place(place: Count, references: Count) -> Count:
    """Where the meta of a frame begins."""
    return place + HEADER_BYTES + references * REFERENCE_BYTES


@njit(cache=True, nogil=True)
def store_reply_head(
    data: Bytes, place: Count, flags: Word, operation: Word, payload_bytes: Word
) -> None:
    """The head of a reply with status 0, without a meta."""
    data[place : place + HEADER_BYTES] = 0
    store_word(data, place, 4, _MAGIC)
    store_word(data, place + 4, 1, flags)
    store_word(data, place + 16, 8, operation)
    store_word(data, place + 24, 8, payload_bytes)
