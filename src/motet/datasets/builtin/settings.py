"""Parses `key=value,key=value` after a data set's name into a frozen dataclass of numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import Field, field, fields
from typing import Any, TypeVar

from motet.domain.errors import BadInput, UnknownName

S = TypeVar("S")


def setting(default: float, *, least: float = 0, most: float = math.inf) -> Any:
    """Return a dataclass field with a default and the range of its value."""
    return field(default=default, metadata={"least": least, "most": most})


def read_settings(cls: type[S], name: str, text: str) -> S:
    """Create `cls`, whose fields are made by `setting`, from `users=1000,density=0.05`.

    Raises `BadInput` for a key that `cls` lacks, a key given twice, a value that is not a number
    of the field's type, or one outside its range.
    """
    known = {entry.name: entry for entry in fields(cls)}  # type: ignore[arg-type]
    pairs = split_pairs(name, text)
    require_known_keys(name, pairs, tuple(known))
    return cls(**{key: _number(f"{name}: {key}", known[key], pairs[key]) for key in pairs})


def split_pairs(name: str, text: str) -> dict[str, str]:
    """Return `{"users": "1000", ...}`. Raises `BadInput` if the text has another form."""
    pairs: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise BadInput(f"{name}: {part!r} is not a setting; write key=value,key=value")
        if key in pairs:
            raise BadInput(f"{name}: {key!r} is given twice; give it once")
        pairs[key] = value
    return pairs


def require_known_keys(name: str, pairs: Mapping[str, str], known: tuple[str, ...]) -> None:
    """Raise `UnknownName` for the first key that is not in `known`."""
    for key in pairs:
        if key not in known:
            raise UnknownName(f"setting of {name}", key, known)


def _number(where: str, entry: Field[Any], text: str) -> float:
    is_whole = isinstance(entry.default, int)
    hint = f"the default is {entry.default}"
    try:
        value = int(text) if is_whole else float(text)
    except ValueError:
        wanted = "a whole number" if is_whole else "a number"
        raise BadInput(f"{where}={text!r} is not {wanted}; {hint}") from None
    least, most = entry.metadata["least"], entry.metadata["most"]
    if not least <= value <= most:
        raise BadInput(f"{where}={text} is outside {least}..{most}; {hint}")
    return value
