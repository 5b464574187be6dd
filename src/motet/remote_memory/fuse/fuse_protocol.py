"""The part of the kernel's FUSE protocol that one file of fixed size needs (linux/fuse.h). Pure."""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import NamedTuple

IN_HEADER = struct.Struct("=IIQQIIII")
"""Length, operation, number of the request, inode, user, group, process, padding."""
OUT_HEADER = struct.Struct("=IiQ")
"""Length, negative error, number of the request."""
TRANSFER = struct.Struct("=QQIIQII")
"""Of READ and WRITE: file handle, offset, size, and flags that do not matter here."""
WRITTEN = struct.Struct("=II")
CONTENT_AT = IN_HEADER.size + TRANSFER.size
"""Where the content of a write begins."""
MAX_TRANSFER_BYTES = 1 << 20
REQUEST_BYTES = CONTENT_AT + MAX_TRANSFER_BYTES

_MAJOR, _MINOR = 7, 31
_LEAST_MINOR = 28  # Linux 4.20: more than 128 KiB in one request.
_INIT_IN = struct.Struct("=IIII")
_INIT_OUT = struct.Struct("=IIIIHHIIHHI28x")
_ATTRIBUTES = struct.Struct("=QII6Q10I")
_OPENED = struct.Struct("=QII")
_ASYNC_READ, _BIG_WRITES, _ASYNC_DIO, _MAX_PAGES = 1 << 0, 1 << 5, 1 << 15, 1 << 22
_FLAGS = _ASYNC_READ | _BIG_WRITES | _ASYNC_DIO | _MAX_PAGES
_IN_BACKGROUND, _CONGESTED_FROM = 64, 48
_DIRECT_IO = 1
_VALID_S = 1 << 31
_REGULAR_FILE = 0o100600
_PAGE = 4096


class FuseOperation(IntEnum):
    """Requests of the kernel; whatever is not here is refused."""

    FORGET = 2
    GETATTR = 3
    SETATTR = 4
    OPEN = 14
    READ = 15
    WRITE = 16
    RELEASE = 18
    FSYNC = 20
    FLUSH = 25
    INIT = 26
    INTERRUPT = 36
    DESTROY = 38
    BATCH_FORGET = 42


WITHOUT_ANSWER = frozenset(
    (FuseOperation.FORGET, FuseOperation.INTERRUPT, FuseOperation.BATCH_FORGET)
)


class FuseRequest(NamedTuple):
    """The head of a request."""

    operation: int
    number: int


class OldKernel(ValueError):
    """The kernel's protocol is older than what this module speaks."""


def decode_request(data: memoryview) -> FuseRequest:
    """Of a complete request."""
    _, operation, number, *_ = IN_HEADER.unpack_from(data)
    return FuseRequest(operation, number)


def mount_options(descriptor: int) -> str:
    """For mount(2) onto a file: its root is a file itself."""
    return f"fd={descriptor},rootmode={_REGULAR_FILE:o},user_id=0,group_id=0"


def answer_to_init(data: memoryview) -> bytes:
    """Raises OldKernel."""
    major, minor, read_ahead, flags = _INIT_IN.unpack_from(data, IN_HEADER.size)
    if (major, minor) < (_MAJOR, _LEAST_MINOR):
        raise OldKernel(f"FUSE {major}.{minor}, at least {_MAJOR}.{_LEAST_MINOR} is needed")
    return _INIT_OUT.pack(
        _MAJOR,
        _MINOR,
        read_ahead,
        flags & _FLAGS,
        _IN_BACKGROUND,
        _CONGESTED_FROM,
        MAX_TRANSFER_BYTES,
        1,
        MAX_TRANSFER_BYTES // _PAGE,
        0,
        0,
    )


def file_attributes(inode: int, size_bytes: int) -> bytes:
    """Of a file that only root can open; they never change."""
    blocks = size_bytes // 512
    return _ATTRIBUTES.pack(
        *(_VALID_S, 0, 0),
        *(inode, size_bytes, blocks, 0, 0, 0),
        *(0, 0, 0, _REGULAR_FILE, 1, 0, 0, 0, _PAGE, 0),
    )


def answer_to_open() -> bytes:
    """The page cache would hold in memory what was paged out."""
    return _OPENED.pack(0, _DIRECT_IO, 0)
