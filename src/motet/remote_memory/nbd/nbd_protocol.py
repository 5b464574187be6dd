"""The numbers and structs of the NBD protocol (github.com/NetworkBlockDevice/nbd, doc/proto.md)."""

from __future__ import annotations

import struct
from enum import IntEnum

GREETING = struct.pack(">QQH", 0x4E42444D41474943, 0x49484156454F5054, 0b11)
"""The server's first bytes: fixed newstyle, without the zeroes of the oldest clients."""
CLIENT_FLAGS = struct.Struct(">I")
KNOWN_CLIENT_FLAGS = 0b11
NO_ZEROES = 0b10
OPTION = struct.Struct(">QII")
OPTION_MAGIC = 0x49484156454F5054
OPTION_REPLY = struct.Struct(">QIII")
OPTION_REPLY_MAGIC = 0x3E889045565A9
EXPORT_START = struct.Struct(">QH")
REQUEST = struct.Struct(">IHHQQI")
REQUEST_MAGIC = 0x25609513
REPLY = struct.Struct(">IIQ")
REPLY_MAGIC = 0x67446698
MAX_OPTION_BYTES = 1 << 14
MAX_REQUEST_BYTES = 1 << 25
"""Largest read or write, which clients may send unless told otherwise."""
MAX_SKIPPED_BYTES = 1 << 26
"""A larger write is refused; one beyond this ends the connection."""

TRANSMISSION_FLAGS = 1 | 4 | 8 | 32 | 64 | 256
"""Has flags, FLUSH, FUA, TRIM, WRITE_ZEROES, and several connections see the same device."""
FUA, NO_HOLE = 1, 2
"""Flags of requests."""


class NbdOption(IntEnum):
    """What a client asks for before it sends requests."""

    EXPORT_NAME = 1
    ABORT = 2
    LIST = 3
    INFO = 6
    GO = 7


class NbdOptionReply(IntEnum):
    """Answers to options; errors have the highest bit."""

    ACK = 1
    SERVER = 2
    INFO = 3
    UNSUPPORTED = (1 << 31) + 1
    INVALID = (1 << 31) + 3
    UNKNOWN = (1 << 31) + 6


class NbdCommand(IntEnum):
    """Requests."""

    READ = 0
    WRITE = 1
    DISCONNECT = 2
    FLUSH = 3
    TRIM = 4
    WRITE_ZEROES = 6


class NbdError(IntEnum):
    """Errors in replies: Linux's numbers of 2000."""

    NONE = 0
    IO = 5
    INVALID = 22
    NO_SPACE = 28
