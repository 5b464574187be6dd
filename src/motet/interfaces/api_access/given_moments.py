"""Texts of users that name a moment: the beginning of a period, or a time to come. Pure."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from motet.domain.errors import BadInput

_AGO = re.compile(r"(\d{1,6})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def past_moment(option: str, text: str, now: datetime) -> datetime:
    """`2h` (ago), or a date with or without a time, by default in the zone of `now`.

    Raises BadInput that names the option.
    """
    shown = f"{option} {text:.40}"
    try:
        if ago := _AGO.fullmatch(text):
            return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        found = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise BadInput(f"{shown}: give 2h, 7d, or a date as 2026-12-01T08:00") from None
    found = found if found.tzinfo is not None else found.replace(tzinfo=now.tzinfo)
    if found > now:
        raise BadInput(f"{shown}: is in the future")
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
