"""JSON files with a list of jobs: every entry with the line that it begins in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from motet.sim.traces.source import Source

_BETWEEN = re.compile(r"[\s,]*")
_COLON = re.compile(r"\s*:\s*")


def entries_of_list(source: Source) -> Iterator[tuple[int, Any]]:
    """Entries of a list, or objects one after the other. Raises BadInput if it is not JSON."""
    text = source.text
    begin = text.index("[") + 1 if text.lstrip().startswith("[") else 0
    return _entries(source, begin)


def entries_of_items(source: Source) -> Iterator[tuple[int, Any]]:
    """As `entries_of_list`; entries of `items` for an object that has them.

    The other members of that object, before its items, are not entries.
    """
    begin = _begin_of_items(source)
    return entries_of_list(source) if begin is None else _entries(source, begin)


def _begin_of_items(source: Source) -> int | None:
    """The place after the bracket of `"items": [`; None if the first object has no such list."""
    text, decoder = source.text, json.JSONDecoder()
    place = _after(_BETWEEN, text, 0)
    if not text.startswith("{", place):
        return None
    place = _after(_BETWEEN, text, place + 1)
    while text.startswith('"', place):
        try:
            name, place = decoder.raw_decode(text, place)
            place = _after(_COLON, text, place)
            if name == "items" and text.startswith("[", place):
                return place + 1
            _, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return None  # The error is reported where the entries are read.
        place = _after(_BETWEEN, text, place)
    return None


def _entries(source: Source, begin: int) -> Iterator[tuple[int, Any]]:
    text, decoder = source.text, json.JSONDecoder()
    place = _after(_BETWEEN, text, begin)
    line = 1 + text.count("\n", 0, place)
    while place < len(text) and text[place] != "]":
        try:
            entry, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            reason = _reason(error)
            wrong_line = getattr(error, "lineno", line)
            problem = f"is not JSON ({reason})"
            raise source.complaint(problem, "the file may be cut short", wrong_line) from None
        yield line, entry
        following = _after(_BETWEEN, text, end)
        line += text.count("\n", place, following)
        place = following
    if place >= len(text) and begin > 0:
        raise source.complaint("the list of jobs does not end", "the file may be cut short", line)


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return error.msg if isinstance(error, json.JSONDecodeError) else "a number is too long"


def _after(pattern: re.Pattern[str], text: str, place: int) -> int:
    found = pattern.match(text, place)
    return found.end() if found else place
