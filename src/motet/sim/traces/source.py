"""A trace file in memory: its decompressed text and its path."""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Self, cast

from motet.domain.bounded_reading.decompression import limited
from motet.domain.bounded_reading.regular_files import NotAFile, regular_file
from motet.domain.errors import BadInput
from motet.sim.traces.decoding import NotText, decoded
from motet.sim.traces.options import ReadingOptions

_HEAD_CHARACTERS = 65_536
_HEAD_LINES = 50


@dataclass(frozen=True)
class Source:
    """`sha256`: of the compressed bytes on disk. `options`: what the user states about it.

    `notices`: for the user, about the text.
    """

    path: Path
    sha256: str
    text: str
    options: ReadingOptions = field(default_factory=ReadingOptions)
    notices: tuple[str, ...] = ()

    @classmethod
    def open(
        cls,
        path: Path,
        options: ReadingOptions | None = None,
        wanted: str = "a trace with jobs",
    ) -> Self:
        """Read a whole file. Raises BadInput for one that is missing, damaged, empty or binary.

        `wanted`: the expected content, for the error message.
        """
        raw, options = _read(path), options or ReadingOptions()
        try:
            text, notices = decoded(_decompressed(path, raw), options.encoding)
        except NotText as error:
            remedy = f"give {wanted}, as text"
            if options.encoding is not None:
                remedy = "name the encoding that it has with --encoding"
            raise _complaint(path, str(error), remedy) from None
        if not text.strip():
            raise _complaint(path, "the file is empty", f"give {wanted}")
        return cls(path, hashlib.sha256(raw).hexdigest(), text, options, notices)

    def complaint(self, problem: str, remedy: str, line: int | None = None) -> BadInput:
        """The error "file:line: problem; remedy"."""
        return _complaint(self.path, problem, remedy, line)

    @cached_property
    def head(self) -> tuple[str, ...]:
        """The first lines that are not blank."""
        lines = self.text[:_HEAD_CHARACTERS].splitlines()
        return tuple(islice((line for line in lines if line.strip()), _HEAD_LINES))

    @cached_property
    def header(self) -> tuple[str, ...]:
        """The names in the first line, if the file is comma-separated."""
        return tuple(cell.strip().strip('"').strip().lower() for cell in self.head[0].split(","))


def _read(path: Path) -> bytes:
    try:
        return regular_file(path).read_bytes()
    except FileNotFoundError:
        raise _complaint(path, "no such file", "check the path") from None
    except IsADirectoryError:
        raise _complaint(path, "is a folder", "give a file in it") from None
    except NotAFile as error:
        raise _complaint(path, str(error.strerror), "copy its content to a file") from None
    except OSError as error:
        reason = f"cannot be read ({error.strerror or error})"
        raise _complaint(path, reason, "check its permissions") from None


def _decompressed(path: Path, raw: bytes) -> bytes:
    if not raw.startswith(b"\x1f\x8b"):
        return raw
    try:
        packed = cast(BinaryIO, gzip.GzipFile(fileobj=io.BytesIO(raw)))
        with limited(packed, path, len(raw)) as stream:
            return stream.read()
    except (OSError, EOFError, zlib.error) as error:
        reason = f"cannot be decompressed ({error})"
        raise _complaint(path, reason, "the file is damaged: fetch it again") from None


def _complaint(path: Path, problem: str, remedy: str, line: int | None = None) -> BadInput:
    place = f"{path}" if line is None else f"{path}:{line}"
    return BadInput(f"{place}: {problem}; {remedy}")
