"""The text of a log of jobs in any encoding."""

from __future__ import annotations

import codecs

from motet.domain.errors import BadInput

_ASSUMED = "cp1252"
_ASSUMED_NOTICE = "the file is not UTF-8: read as Windows-1252; --encoding names another encoding"
_UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class NotText(ValueError):
    """The message says why bytes are not text in an encoding."""


def checked_encoding(name: str) -> str:
    """The encoding of `--encoding`. Raises BadInput if Python does not know it, or not as text."""
    try:
        "".encode(name)
    except (LookupError, ValueError):
        raise BadInput(
            f"--encoding {name[:40]}: no such encoding; give a name such as utf-8, cp1252, gbk, "
            "shift_jis or utf-16"
        ) from None
    return name


def decoded(content: bytes, encoding: str | None) -> tuple[str, tuple[str, ...]]:
    """The text of a file and notices about it. Raises NotText.

    `encoding`: None: UTF-8, or UTF-16 with a byte order mark, or else Windows-1252.
    """
    if encoding is not None:
        return _strict(content, encoding), ()
    if content.startswith(_UTF_16_MARKS):
        return _strict(content, "utf-16"), ()
    if b"\0" in content:
        raise NotText("is not text")
    try:
        return content.decode("utf-8-sig"), ()
    except UnicodeDecodeError:
        return content.decode(_ASSUMED, "replace"), (_ASSUMED_NOTICE,)


def _strict(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except UnicodeError as error:
        where = ""
        if isinstance(error, UnicodeDecodeError):
            line = content.count(b"\n", 0, error.start) + 1
            where = f": line {line}, byte {error.start}, {error.reason}"
        raise NotText(f"is not {encoding} text{where}") from None
