"""Messages as lines of JSON: frozen dataclasses, named by their kind."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from motet.domain.errors import BadInput


def message_line(message: Any) -> str:
    """A line of JSON without its end."""
    return json.dumps({"kind": type(message).__name__, **asdict(message)})


def read_line(line: str, kinds: Mapping[str, Any], parts: Mapping[str, Any]) -> Any:
    """The message of a line. `parts`: types of the fields that are values themselves, or lists of
    them, by the names of the fields. Raises BadInput.
    """
    try:
        values = json.loads(line)
        return _made(kinds[values.pop("kind")], values, parts)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"not a message of the launcher: {line[:200]!r}") from error


def _made(kind: Any, values: Mapping[str, Any], parts: Mapping[str, Any]) -> Any:
    return kind(**{name: _value(name, each, parts) for name, each in values.items()})


def _value(name: str, value: Any, parts: Mapping[str, Any]) -> Any:
    if name == "points":
        return tuple((float(step), float(loss)) for step, loss in value)
    if name in parts and isinstance(value, list):
        return tuple(_made(parts[name], each, parts) for each in value)
    if name in parts and value is not None:
        return _made(parts[name], value, parts)
    return tuple(value) if isinstance(value, list) else value
