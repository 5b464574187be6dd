"""The options of an NBD client, and what a server answers. Pure."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import Enum

from motet.remote_memory.core.device_geometry import PAGE_BYTES
from motet.remote_memory.nbd.nbd_protocol import (
    EXPORT_START,
    MAX_REQUEST_BYTES,
    NO_ZEROES,
    OPTION_REPLY,
    OPTION_REPLY_MAGIC,
    TRANSMISSION_FLAGS,
    NbdOption,
    NbdOptionReply,
)

_INFO_EXPORT, _INFO_BLOCK_SIZE = 0, 3
_NAME_BYTES = struct.Struct(">I")


@dataclass(frozen=True)
class NbdExport:
    """What the server offers, by its name or without one."""

    name: str
    size_bytes: int

    def has_name(self, name: bytes) -> bool:
        """Whether a client that gives this name means it."""
        return name in (b"", self.name.encode())


class NbdNextStep(Enum):
    """What follows the answer."""

    OPTIONS = "options"
    REQUESTS = "requests"
    END = "end"


def answer_option(
    export: NbdExport, client_flags: int, number: int, data: bytes
) -> tuple[bytes, NbdNextStep]:
    """The bytes to send, and what follows."""
    match number:
        case NbdOption.EXPORT_NAME:
            if not export.has_name(data):
                return b"", NbdNextStep.END
            zeroes = b"" if client_flags & NO_ZEROES else bytes(124)
            return _start(export) + zeroes, NbdNextStep.REQUESTS
        case NbdOption.ABORT:
            return _reply(number, NbdOptionReply.ACK), NbdNextStep.END
        case NbdOption.LIST if not data:
            name = export.name.encode()
            entry = _NAME_BYTES.pack(len(name)) + name
            listed = _reply(number, NbdOptionReply.SERVER, entry)
            return listed + _reply(number, NbdOptionReply.ACK), NbdNextStep.OPTIONS
        case NbdOption.INFO | NbdOption.GO:
            return _information(export, number, data)
        case NbdOption.LIST:
            return _reply(number, NbdOptionReply.INVALID), NbdNextStep.OPTIONS
        case _:
            return _reply(number, NbdOptionReply.UNSUPPORTED), NbdNextStep.OPTIONS


def _information(export: NbdExport, number: int, data: bytes) -> tuple[bytes, NbdNextStep]:
    name = _requested_name(data)
    if name is None:
        return _reply(number, NbdOptionReply.INVALID), NbdNextStep.OPTIONS
    if not export.has_name(name):
        return _reply(number, NbdOptionReply.UNKNOWN), NbdNextStep.OPTIONS
    answer = b"".join(
        (
            _reply(
                number,
                NbdOptionReply.INFO,
                struct.pack(">HQH", _INFO_EXPORT, export.size_bytes, TRANSMISSION_FLAGS),
            ),
            _reply(
                number,
                NbdOptionReply.INFO,
                struct.pack(">HIII", _INFO_BLOCK_SIZE, PAGE_BYTES, PAGE_BYTES, MAX_REQUEST_BYTES),
            ),
            _reply(number, NbdOptionReply.ACK),
        )
    )
    return answer, NbdNextStep.REQUESTS if number == NbdOption.GO else NbdNextStep.OPTIONS


def _requested_name(data: bytes) -> bytes | None:
    """The name in INFO or GO; the list of wishes behind it must be complete. None: malformed."""
    if len(data) < _NAME_BYTES.size + 2:
        return None
    (length,) = _NAME_BYTES.unpack_from(data)
    end = _NAME_BYTES.size + length
    if len(data) < end + 2:
        return None
    (wishes,) = struct.unpack_from(">H", data, end)
    if len(data) != end + 2 + 2 * wishes:
        return None
    return data[_NAME_BYTES.size : end]


def _start(export: NbdExport) -> bytes:
    return EXPORT_START.pack(export.size_bytes, TRANSMISSION_FLAGS)


def _reply(option: int, kind: NbdOptionReply, data: bytes = b"") -> bytes:
    return OPTION_REPLY.pack(OPTION_REPLY_MAGIC, option, kind, len(data)) + data
