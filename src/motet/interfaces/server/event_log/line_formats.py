"""An event as one line: text in the manner of logfmt, or a JSON object."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

LogFormat: TypeAlias = Literal["text", "json"]

_TOKENS = re.compile(r"(?i)\b(bearer\s+|motet_)[\w.~+/=-]{8,}")
_HIDDEN = "***"
_PLAIN = re.compile(r"[\w.:/@+*-]+")


class EventLine(logging.Formatter):
    """The line of a record. Its attribute `fields` has `job`, `attempt` and others.

    Tokens never belong into a record; those of errors in libraries are masked.
    """

    def __init__(self, form: LogFormat, secrets: tuple[str, ...] = ()) -> None:
        """`secrets`: to be masked wherever they are."""
        super().__init__()
        self._write: Callable[[Mapping[str, Any]], str] = _json if form == "json" else _text
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        """See logging."""
        return self._write(
            {name: self._masked(value) for name, value in self._values(record).items()}
        )

    def _values(self, record: logging.LogRecord) -> dict[str, Any]:
        fields: Mapping[str, Any] = getattr(record, "fields", {})
        at = datetime.fromtimestamp(record.created, UTC)
        values = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "component": record.name.removeprefix("motet."),
            "event": record.getMessage(),
            "job": None,
            "attempt": None,
            **fields,
        }
        if record.exc_info:
            values["exception"] = self.formatException(record.exc_info)
        return values

    def _masked(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        for secret in self._secrets:
            value = value.replace(secret, _HIDDEN)
        return _TOKENS.sub(rf"\1{_HIDDEN}", value)


def _json(values: Mapping[str, Any]) -> str:
    return json.dumps(values, default=str)


def _text(values: Mapping[str, Any]) -> str:
    time, level, component, event, *_ = values.values()
    more = [f"{name}={_word(value)}" for name, value in [*values.items()][4:] if value is not None]
    return " ".join([time, f"{level:7}", f"{component:8}", _word(event, allowed=" "), *more])


def _word(value: Any, *, allowed: str = "") -> str:
    """As it is, or quoted with escapes: no value can begin a new line."""
    text = str(value)
    return text if _PLAIN.fullmatch(text.replace(allowed or "\0", "")) else json.dumps(text)
