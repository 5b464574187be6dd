"""Bytes and lines of input files, decompressed; every failure becomes a one-line error."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, cast

from motet.domain.bounded_reading.decompression import DecompressionLimit, limited
from motet.domain.bounded_reading.regular_files import NotAFile, regular_file
from motet.domain.errors import BadInput

HEAD_BYTES = 65_536
_BLOCK_BYTES = 16 << 20
_BEGINNING_BYTES, _UNUSUAL_RATIO = 8 << 20, 20
_COMPRESSED_SUFFIXES = (".gz", ".bz2", ".xz")
_WINDOWS_NOTE = (
    "is not UTF-8: read as Windows-1252 (Western Europe); if it has another encoding, convert it "
    "with iconv -f ENCODING -t UTF-8"
)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class InputFile:
    """An input file, possibly compressed (gzip, bzip2 or xz, detected by its first bytes).

    Its methods raise `BadInput` for a file that is missing, unreadable, empty or damaged.
    """

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    @property
    def plain_name(self) -> str:
        """The file's name in lower case, without the suffix of its compression."""
        return _without_compression(self.path.name.lower())

    def complaint(self, problem: str, remedy: str, line: int | None = None) -> BadInput:
        """Return the error "file:line: problem; remedy"; lines count from 1."""
        place = f"{self.path}" if line is None else f"{self.path}:{line}"
        return BadInput(f"{place}: {problem}; {remedy}")

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Open the decompressed bytes as a stream."""
        with self._opened() as (_, stream):
            yield stream

    @contextmanager
    def _opened(self) -> Iterator[tuple[BinaryIO, BinaryIO]]:
        """Open the file itself, and its decompressed bytes."""
        with self._explained(), regular_file(self.path).open("rb") as raw:
            magic = raw.read(6)
            raw.seek(0)
            if not magic:
                raise self.complaint("the file is empty", "give a file with data")
            packed = _decompressed(raw, magic)
            if packed is None:
                yield raw, raw
            else:
                with packed, limited(packed, self, self._size) as stream:
                    yield raw, stream

    @property
    def limit(self) -> DecompressionLimit:
        """The most bytes that the content may expand to. Raises BadInput."""
        with self._explained():
            return DecompressionLimit.of(self, self._size)

    def read(self, byte_count: int = -1) -> bytes:
        """Read the first decompressed bytes, or all of them."""
        with self.opened() as stream:
            return stream.read(byte_count)

    @cached_property
    def head(self) -> Head:
        """The beginning of the file, read once, for recognising its format."""
        return Head.of(self.plain_name, self.read(HEAD_BYTES))

    def refuse_bomb(self) -> None:
        """Raises TooLarge before anything is parsed, if the beginning looks like a bomb's."""
        with self._opened() as (file, stream):
            expanded_bytes = len(stream.read(_BEGINNING_BYTES))
            if expanded_bytes > _UNUSUAL_RATIO * file.tell():
                while stream.read(_BLOCK_BYTES):
                    continue

    def blocks(self) -> Iterator[bytes]:
        """Yield the content in blocks of some megabytes that end with a line."""
        with self.opened() as stream:
            unfinished = [stream.read(len(_BYTE_ORDER_MARK)).removeprefix(_BYTE_ORDER_MARK)]
            while piece := stream.read(_BLOCK_BYTES):
                end = piece.rfind(b"\n") + 1
                if end:
                    yield b"".join([*unfinished, piece[:end]])
                    unfinished = [piece[end:]]
                else:
                    unfinished.append(piece)
            rest = b"".join(unfinished)
            if rest:
                yield rest

    @property
    def is_empty(self) -> bool:
        """Whether the file has no bytes."""
        with self._explained():
            return self._size == 0

    def text_blocks(self) -> Iterator[bytes]:
        """Yield `blocks` as UTF-8; other content is taken for Windows-1252 (see `notes`)."""
        for block in self.blocks():
            yield block if self.is_utf8 else _from_windows(block).encode()

    def text(self) -> str:
        """Return the whole content as text, decoded like `text_blocks`."""
        content = self.read()
        return content.decode("utf-8-sig") if self.is_utf8 else _from_windows(content)

    @cached_property
    def is_utf8(self) -> bool:
        """Whether the whole content is UTF-8 text. The first access reads the file."""
        for block in self.blocks():
            try:
                block.decode()
            except UnicodeDecodeError:
                return False
        return True

    @property
    def notes(self) -> tuple[str, ...]:
        """A note for the user if the text is not UTF-8."""
        return () if self.is_utf8 else (_WINDOWS_NOTE,)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield every line with its number from 1, without its end; for error messages."""
        number = 0
        for block in self.blocks():
            for line in block.split(b"\n")[: -1 if block.endswith(b"\n") else None]:
                number += 1
                yield number, line.decode("utf-8", "replace").rstrip("\r")

    def in_same_folder(self, name: str) -> InputFile | None:
        """Return the file of that plain name in this folder, compressed or not, if it exists."""
        for suffix in ("", *_COMPRESSED_SUFFIXES):
            path = self.path.with_name(name + suffix)
            if path.is_file():
                return InputFile(path)
        return None

    @property
    def _size(self) -> int:
        return self.path.stat().st_size

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise self.complaint("no such file", "check the path") from None
        except IsADirectoryError:
            raise self.complaint("is a folder", "give a file in it") from None
        except NotAFile as error:
            raise self.complaint(str(error.strerror), "copy its data to a file") from None
        except PermissionError:
            raise self.complaint("may not be read", "change its permissions") from None
        except EOFError:
            problem = "the compressed file ends too early"
            raise self.complaint(problem, "it was cut short: fetch it again") from None
        except (OSError, zlib.error, lzma.LZMAError) as error:
            problem = f"cannot be read ({error})"
            raise self.complaint(problem, "the file is damaged: fetch it again") from None


@dataclass(frozen=True)
class Head:
    """The beginning of a file. `lines`: its first whole lines that are not blank."""

    name: str
    start: bytes
    is_text: bool
    lines: tuple[str, ...]

    @classmethod
    def of(cls, name: str, start: bytes) -> Head:
        """`name`: the plain name in lower case; `start`: up to `HEAD_BYTES` of content."""
        is_text = b"\0" not in start
        lines = start.removeprefix(_BYTE_ORDER_MARK).decode("utf-8", "replace").splitlines()
        if len(start) == HEAD_BYTES and len(lines) > 1:
            lines.pop()
        filled = tuple(line for line in lines if line.strip())
        return cls(name, start, is_text, filled if is_text else ())


def _decompressed(raw: BinaryIO, magic: bytes) -> BinaryIO | None:
    """A stream of the decompressed bytes, or None for other files."""
    if magic.startswith(b"\x1f\x8b"):
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
    if magic.startswith(b"BZh"):
        return cast(BinaryIO, bz2.BZ2File(raw))
    if magic == b"\xfd7zXZ\x00":
        return cast(BinaryIO, lzma.LZMAFile(raw))
    return None


def _from_windows(content: bytes) -> str:
    return content.decode("cp1252", "replace")


def _without_compression(name: str) -> str:
    for suffix in _COMPRESSED_SUFFIXES:
        name = name.removesuffix(suffix)
    return name
