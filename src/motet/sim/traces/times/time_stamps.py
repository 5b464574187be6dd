"""Dates and times of a log, in a time zone that the log or the user states."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from motet.domain.errors import BadInput, nearest_name
from motet.sim.traces.times.clock_forms import read_iso

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LOCAL_EPOCH = _EPOCH.replace(tzinfo=None)
_MICROSECOND = timedelta(microseconds=1)
_ASSUMED_UTC = (
    "times without a time zone are read as UTC; if the clock of the log changes to daylight saving "
    "time, name its zone: --timezone Europe/Berlin"
)


def zone_named(name: str) -> tzinfo:
    """The zone of the IANA database, or a fixed offset such as +02:00. Raises BadInput."""
    if name.upper() in ("UTC", "Z"):
        return UTC
    if name[:1] in ("+", "-"):
        return _fixed_offset(name)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        known = available_timezones()
    if not known:
        raise BadInput(
            f"--timezone {name}: this machine has no time zone database; install the package "
            "tzdata, or give an offset such as +02:00"
        )
    near = nearest_name(name, known)
    hint = f"did you mean {near}? Or give " if near else "give "
    raise BadInput(
        f"--timezone {name[:40]}: no such zone; {hint}a name such as Europe/Berlin or "
        "America/New_York, or an offset such as +02:00"
    )


def _fixed_offset(text: str) -> tzinfo:
    try:
        zone = datetime.fromisoformat(f"2000-01-01T00:00:00{text}").tzinfo
    except ValueError:
        zone = None
    if zone is None:
        raise BadInput(f"--timezone {text[:40]}: is not an offset; write it as +02:00")
    return zone


class TimeStamps:
    """Converts time stamps to microseconds and counts what had to be assumed."""

    def __init__(self, zone: tzinfo | None, read: Callable[[str], datetime] = read_iso) -> None:
        """`zone`: of time stamps without one; None: UTC. `read`: raises ValueError."""
        self._zone, self._read = zone, read
        self._without_zone = self._repeated = self._skipped = 0

    def microseconds(self, cell: str) -> int:
        """A date and time in microseconds since 1970. Raises ValueError."""
        moment = self._read(cell)
        if moment.tzinfo is not None:
            return (moment - _EPOCH) // _MICROSECOND
        self._without_zone += 1
        if self._zone is None:
            return (moment - _LOCAL_EPOCH) // _MICROSECOND
        return self._local_us(moment, self._zone)

    def moment(self, time_us: int | None) -> datetime | None:
        """A time since 1970 as a date in the zone, UTC without one; None for None."""
        if time_us is None:
            return None
        try:
            return (_EPOCH + time_us * _MICROSECOND).astimezone(self._zone or UTC)
        except OverflowError:  # In the first or last hours that dates have.
            return None

    def notices(self, *, says_utc: bool = True) -> tuple[str, ...]:
        """What was assumed. `says_utc`: whether UTC is an assumption, not a rule of the format."""
        if self._zone is None:
            return (_ASSUMED_UTC,) if self._without_zone and says_utc else ()
        unclear = [
            f"{count:,} {'time lies' if count == 1 else 'times lie'} in an hour that {which}"
            for count, which in (
                (self._repeated, "occurred twice (read as the first)"),
                (self._skipped, "was left out (read an hour later)"),
            )
            if count
        ]
        if not unclear:
            return ()
        return (f"daylight saving time in {self._zone}: {', '.join(unclear)}",)

    def _local_us(self, moment: datetime, zone: tzinfo) -> int:
        local = moment.replace(tzinfo=zone)
        first, second = local.utcoffset(), local.replace(fold=1).utcoffset()
        if first is None or second is None:
            raise ValueError(f"which has no offset in {zone}")
        if first != second:
            self._repeated += first > second
            self._skipped += first < second
        return (moment - _LOCAL_EPOCH - first) // _MICROSECOND
