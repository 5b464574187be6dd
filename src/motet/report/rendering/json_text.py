"""Results as strictly valid JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping


def to_json(document: object) -> str:
    """An indented document with a newline at its end; numbers that are not finite become null."""
    return json.dumps(plain(document), indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def plain(value: object) -> object:
    """Values of JSON: NumPy scalars become Python numbers, paths and other objects text."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, bool | str) or value is None:
        return value
    return _plain_number(value)


def _plain_number(value: object) -> object:
    item = getattr(value, "item", None)
    number = item() if callable(item) else value
    if isinstance(number, float):
        return number if math.isfinite(number) else None
    return number if isinstance(number, int | str) else str(number)
