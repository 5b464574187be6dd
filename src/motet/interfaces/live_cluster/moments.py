"""Moments that a program gives: the beginning of a period, or a time to come."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TypeAlias

from motet.domain.errors import BadInput
from motet.interfaces.api_access.given_moments import coming_moment, past_moment

Moment: TypeAlias = datetime | timedelta | str
"""A time (without a zone that of this machine), how far it is from now, or a text of the command
line: `2h`, `18:30`, `2026-12-01T08:00`."""


def period_begin(name: str, value: Moment | None) -> str | None:
    """A moment in the past in ISO 8601 with a zone. Raises BadInput that names the argument."""
    now = datetime.now().astimezone()
    if value is None or not isinstance(value, str):
        return _iso(name, value, now, -1)
    return past_moment(f"--{name}", value, now).isoformat()


def time_to_come(name: str, value: Moment | None) -> str | None:
    """A moment from now on in ISO 8601 with a zone. Raises BadInput that names the argument."""
    now = datetime.now().astimezone()
    if value is None or not isinstance(value, str):
        return _iso(name, value, now, 1)
    return coming_moment(f"--{name}", value, now).isoformat()


def _iso(name: str, value: object, now: datetime, sign: int) -> str | None:
    if value is None:
        return None
    if isinstance(value, timedelta):
        return (now + sign * value).isoformat()
    if not isinstance(value, datetime):
        raise BadInput(f"{name}={value!r:.60}: give a datetime, a timedelta, or a text")
    return value.astimezone().isoformat()
