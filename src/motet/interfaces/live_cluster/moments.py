"""Moments that a user gives: the beginning of a period, or a time to come. Pure."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TypeAlias

from motet.domain.errors import BadInput

Moment: TypeAlias = datetime | timedelta | str
"""A time (without a zone that of this machine), how far it is from now, or a text of the command
line: `2h`, `18:30`, `2026-12-01T08:00`."""
_AGO = re.compile(r"(\d{1,6})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def past_moment(option: str, text: str, now: datetime) -> datetime:
    """`2h` (ago), or a date with or without a time, by default in the zone of `now`.

    Raises BadInput that names the option.
    """
    if ago := _AGO.fullmatch(text):
        return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(f"{option} {text}: give 2h, 7d, or a date as 2026-12-01T08:00") from None
    found = found if found.tzinfo is not None else found.replace(tzinfo=now.tzinfo)
    if found > now:
        raise BadInput(f"{option} {text}: is in the future")
    return found


def coming_moment(option: str, text: str, now: datetime) -> datetime:
    """The time of day that comes next, or a date with a time, by default in the zone of `now`.

    Raises BadInput that names the option.
    """
    try:
        if "-" not in text:
            time = datetime.strptime(text, "%H:%M").time()
            today = datetime.combine(now.date(), time, now.tzinfo)
            return today if today > now else today + timedelta(days=1)
        found = datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(f"{option} {text}: give a time as 18:30, or 2026-12-01T08:00") from None
    return found if found.tzinfo is not None else found.replace(tzinfo=now.tzinfo)


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
