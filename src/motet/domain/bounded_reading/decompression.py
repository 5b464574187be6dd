"""Limits on decompressed data: a small file that expands without end is refused in bounded memory.

Two limits apply. Once more than 100 MB came out, the output is at most 200 times the file; and
the output is at most 64 GiB or half of the machine's memory. The environment variable
`MOTET_DECOMPRESSED_GIB` replaces both.
"""

from __future__ import annotations

import io
import os
import resource
from dataclasses import dataclass
from typing import BinaryIO, Self

from motet.domain.errors import BadInput

VARIABLE = "MOTET_DECOMPRESSED_GIB"
MOST_GIB = 64
MOST_RATIO = 200  # gzip expands to at most 1,032 times the file
_RATIO_APPLIES_FROM_BYTES = 100_000_000
_GIB = 1 << 30
_PIECE_BYTES = 1 << 20


class TooLarge(BadInput):
    """The decompressed data are larger than the limit."""


@dataclass(frozen=True)
class DecompressionLimit:
    """The most bytes that a compressed file may expand to. `place`: the file, for the error."""

    place: str
    most_bytes: int

    @classmethod
    def of(cls, place: object, compressed_bytes: int) -> Self:
        """Raises BadInput if the environment variable is not a number above 0."""
        given = os.environ.get(VARIABLE)
        if given:
            return cls(str(place), _given_bytes(given))
        by_ratio = max(_RATIO_APPLIES_FROM_BYTES, MOST_RATIO * compressed_bytes)
        return cls(str(place), min(by_ratio, MOST_GIB * _GIB, _memory_bytes() // 2))

    def check(self, decompressed_bytes: int) -> None:
        """Raises TooLarge if there are more bytes than the limit."""
        if decompressed_bytes > self.most_bytes:
            raise TooLarge(
                f"{self.place}: expands to more than {self.most_bytes:,} bytes, which looks like "
                f"a decompression bomb; if it is not, set {VARIABLE} to the GiB that it may take"
            )


class LimitedStream(io.RawIOBase):
    """The decompressed bytes of a stream; raises TooLarge beyond the limit."""

    def __init__(self, stream: BinaryIO, limit: DecompressionLimit) -> None:
        self._stream, self._limit = stream, limit

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True: the decompressors start again to seek back."""
        return True

    def tell(self) -> int:
        """The position in the decompressed data."""
        return self._stream.tell()

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Read at most as many bytes as fit."""
        view = memoryview(buffer)
        piece = self._stream.read(min(len(view), _PIECE_BYTES))
        self._limit.check(self._stream.tell())
        view[: len(piece)] = piece
        return len(piece)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position; the bytes on the way count."""
        if whence == io.SEEK_END:
            offset += self._end()
        elif whence == io.SEEK_CUR:
            offset += self.tell()
        if offset <= self.tell():
            return self._stream.seek(offset)
        while self.tell() < offset and self.read(min(_PIECE_BYTES, offset - self.tell())):
            continue
        return self.tell()

    def _end(self) -> int:
        while self.read(_PIECE_BYTES):
            continue
        return self.tell()


def limited(stream: BinaryIO, place: object, compressed_bytes: int) -> BinaryIO:
    """Return the stream with a limit on its bytes. Raises BadInput."""
    limit = DecompressionLimit.of(place, compressed_bytes)
    return io.BufferedReader(LimitedStream(stream, limit), _PIECE_BYTES)


def _given_bytes(text: str) -> int:
    try:
        gibibytes = float(text)
    except ValueError:
        gibibytes = 0.0
    if not 0 < gibibytes < float("inf"):
        raise BadInput(f"{VARIABLE} is {text[:40]!r}; give a number of GiB above 0, such as 64")
    return int(gibibytes * _GIB)


def _memory_bytes() -> int:
    """The machine's memory, or the limit of this process (`ulimit -v`)."""
    machine_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    own_bytes, _ = resource.getrlimit(resource.RLIMIT_AS)
    return machine_bytes if own_bytes == resource.RLIM_INFINITY else min(machine_bytes, own_bytes)
