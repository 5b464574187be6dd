"""Moments as users read them: in the time zone of this machine."""

from __future__ import annotations

from datetime import datetime


def date_and_time_of(at: str | None, missing: str = "-") -> str:
    """ISO 8601 as date and time. `missing`: for no moment."""
    return _words(datetime.fromisoformat(at)) if at else missing


def _words(moment: datetime) -> str:
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def local_clock(unix_s: float) -> str:
    """The time of day; of another day with its date."""
    moment, today = datetime.fromtimestamp(unix_s).astimezone(), datetime.now().astimezone()
    form = "%H:%M:%S" if moment.date() == today.date() else "%Y-%m-%d %H:%M"
    return moment.strftime(form)
