"""Results as strictly valid JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping

# Characters that JSON allows and that terminals obey: DEL, C1, line separators, marks that change
# the direction of text; and halves of surrogate pairs, which UTF-8 cannot encode.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def to_json(document: object) -> str:
    """An indented document with a newline at its end; numbers that are not finite become null.

    Control characters of text are escaped.
    """
    return _json_text(document, indent=2) + "\n"


def to_json_table(
    document: Mapping[str, object], name: str, rows: Iterable[object]
) -> Iterator[str]:
    """As `to_json`, in parts, with a last entry `name`: the rows, each on a line of its own."""
    before, _, after = to_json({**document, name: []}).rpartition("[]")
    yield f"{before}["
    separator = "\n"
    for row in rows:
        yield f"{separator}    {_json_text(row)}"
        separator = ",\n"
    yield f"\n  ]{after}"


def plain(value: object) -> object:
    """Values of JSON: NumPy scalars become Python numbers, paths and other objects text."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, bool | str) or value is None:
        return value
    return _plain_number(value)


def _json_text(document: object, indent: int | None = None) -> str:
    text = json.dumps(plain(document), indent=indent, allow_nan=False, ensure_ascii=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _plain_number(value: object) -> object:
    item = getattr(value, "item", None)
    number = item() if callable(item) else value
    if isinstance(number, float):
        return number if math.isfinite(number) else None
    return number if isinstance(number, int | str) else str(number)
