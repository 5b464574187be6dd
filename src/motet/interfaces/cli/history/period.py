"""The beginning of a period, from the command line. Pure."""

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
