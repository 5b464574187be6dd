"""Records: the encryption of a stream of bytes between hosts. Pure.

    length of the plaintext (4 bytes) | ciphertext | tag (16 bytes)

AES-256-GCM. The number of a record in its direction is its nonce, so a record that was changed,
repeated, dropped or moved does not open. Every connection has keys of its own, one per direction,
derived from the job's secret and the nonces of the handshake (`authentication`).
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from motet.transport.framing import Piece

KEY_BYTES = 32
RECORD_BYTES = 1 << 20
"""Largest plaintext of a record."""
_LENGTH = struct.Struct("<I")
_NONCE = struct.Struct("<Q4x")
LENGTH_BYTES = _LENGTH.size
TAG_BYTES = 16
OVERHEAD_BYTES = LENGTH_BYTES + TAG_BYTES

# Looked up once: a small record's cost is mostly that of the interpreter.
_length = _LENGTH.pack
_length_at = _LENGTH.unpack_from
_nonce = _NONCE.pack


class Tampered(ConnectionError):
    """A record that the peer did not send at this place: the connection cannot be trusted."""

    def __init__(self) -> None:
        super().__init__("bytes were changed, repeated, dropped or moved between the hosts")


class SessionKeys(NamedTuple):
    """The keys of one connection, by direction."""

    to_server: bytes
    to_client: bytes


class Sealer:
    """The sending end of one direction."""

    def __init__(self, key: bytes) -> None:
        cipher = AESGCM(key)
        self._encrypt = cipher.encrypt
        self._encrypt_into = cipher.encrypt_into
        self._number = 0

    def record(self, plaintext: Piece) -> bytes:
        """Return the next record."""
        number = self._number
        self._number = number + 1
        return _length(len(plaintext)) + self._encrypt(_nonce(number), plaintext, None)

    def seal(self, plaintext: Piece, record: memoryview) -> int:
        """Write the next record into the beginning of `record`; return its size."""
        number = self._number
        self._number = number + 1
        size = len(plaintext)
        _LENGTH.pack_into(record, 0, size)
        end = size + OVERHEAD_BYTES
        self._encrypt_into(_nonce(number), plaintext, None, record[LENGTH_BYTES:end])
        return end


class Opener:
    """The receiving end of one direction."""

    def __init__(self, key: bytes) -> None:
        self._decrypt_into = AESGCM(key).decrypt_into
        self._number = 0

    @staticmethod
    def plaintext_bytes(data: bytearray, offset: int) -> int:
        """The size of a plaintext, from the first bytes of its record. Raises Tampered."""
        size: int = _length_at(data, offset)[0]
        if size > RECORD_BYTES:
            raise Tampered
        return size

    def open_only(self, data: memoryview, end: int, plaintext: memoryview) -> int:
        """Open the next record if `data[:end]` is exactly that and its plaintext fits.

        Returns the plaintext's size; 0 if it opened nothing. Raises Tampered.
        """
        size = end - OVERHEAD_BYTES
        if not 0 < size <= len(plaintext) or _length_at(data)[0] != size:
            return 0
        self.open(data[LENGTH_BYTES:end], plaintext[:size])
        return size

    def open(self, sealed: memoryview, plaintext: memoryview) -> None:
        """Verify the next record and write its plaintext, of exactly this size. Raises Tampered.

        `sealed`: the record without its length.
        """
        number = self._number
        self._number = number + 1
        try:
            self._decrypt_into(_nonce(number), sealed, None, plaintext)
        except InvalidTag:
            raise Tampered from None
