"""Forms of times in tables: ISO 8601, dates of other countries, counts since 1970.

A form is found from all cells of a column, and only where they permit one form alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal

from motet.domain.errors import BadInput
from motet.sim.traces.cells import DECIMAL_COMMA, decimal_number

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
UNITS_S: Mapping[str, Decimal] = {
    "s": Decimal(1),
    "ms": Decimal("1e-3"),
    "us": Decimal("1e-6"),
    "ns": Decimal("1e-9"),
}
_UNIT_NAMES = {"ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
_LEAST = (("ns", 10**17), ("us", 10**14), ("ms", 10**11))
"""Numbers of at least this size are such counts since 1970: as seconds they would be thousands of
years, and as the next larger unit, too."""
_DATE = re.compile(
    r"(?P<first>\d{1,2})(?P<mark>[./-])(?P<second>\d{1,2})(?P=mark)(?P<year>\d{4})"
    r"(?:[ ,T]+(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<secs>\d\d)(?:[.,](?P<part>\d{1,6}))?)?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?)?"
)
_UTC = re.compile(r"(?<=\d) ?(?:UTC|GMT)$", re.IGNORECASE)
_MONTHS, _NOON = 12, 12
DAY_FIRST, MONTH_FIRST = "'%d/%m/%Y %H:%M'", "'%m/%d/%Y %H:%M'"
_REMEDY = (
    "give --time-format with a form such as '%d.%m.%Y %H:%M', or the unit of counts since 1970: "
    f"{', '.join(UNITS_S)}"
)


class AmbiguousDates(ValueError):
    """The cells of a column can be read as day/month and as month/day."""


@dataclass(frozen=True)
class ClockForm:
    """`read`: the time in a cell; raises ValueError. `notice`: what was found out; may be empty."""

    read: Callable[[str], datetime]
    notice: str = ""


def read_iso(cell: str) -> datetime:
    """A date and time of ISO 8601, or with `UTC` or `GMT` at the end. Raises ValueError."""
    text = cell.strip()
    with suppress(ValueError):
        return datetime.fromisoformat(text)
    try:
        return datetime.fromisoformat(_UTC.sub("+00:00", text))
    except ValueError:
        raise ValueError("which is not a time like 2017-10-09 07:01:55") from None


def read_usual(cell: str) -> datetime:
    """The same where the user can name another form, which the error says. Raises ValueError."""
    try:
        return read_iso(cell)
    except ValueError as error:
        if DECIMAL_COMMA.fullmatch(cell.strip()):
            raise ValueError("which is not a number; write decimals with a point") from None
        raise ValueError(f"{error}; for another form, {_REMEDY}") from None


def given_form(text: str) -> ClockForm:
    """The form that a user names: a unit, or a format of `strptime`. Raises BadInput."""
    if text in UNITS_S:
        return ClockForm(_reader_of_counts(UNITS_S[text]))
    problem = _problem_of_format(text)
    if problem:
        raise BadInput(f"--time-format {text[:40]!r}: {problem}; {_REMEDY}")

    def read(cell: str) -> datetime:
        try:
            return datetime.strptime(cell.strip(), text)
        except ValueError:
            raise ValueError(f"which does not have the form --time-format {text!r}") from None

    return ClockForm(read)


def found_form(cells: Sequence[str]) -> ClockForm | None:
    """The form of a column; None for seconds of the log's own clock. Raises AmbiguousDates."""
    first = next(filter(None, map(str.strip, cells)), "0")
    try:
        count = abs(decimal_number(first))
    except ValueError:
        return _form_of_dates(cells) if _DATE.fullmatch(first) else ClockForm(read_usual)
    unit = next((name for name, least in _LEAST if count >= least), None)
    if unit is None:
        return None
    notice = f"times such as {first} are read as {_UNIT_NAMES[unit]} since 1970"
    return ClockForm(_reader_of_counts(UNITS_S[unit]), notice)


def _problem_of_format(text: str) -> str:
    """What is wrong with a format; empty: nothing."""
    probe = datetime(2024, 10, 27, 13, 5, tzinfo=UTC)
    if "%" not in text:
        return "no format of a time"
    try:
        found = datetime.strptime(probe.strftime(text), text)
    except (ValueError, re.error) as error:
        return f"no format of a time ({error})"
    return "" if found.date() == probe.date() else "no year, month and day in it"


def _reader_of_counts(unit_s: Decimal) -> Callable[[str], datetime]:
    def read(cell: str) -> datetime:
        time_us = (decimal_number(cell) * unit_s * 10**6).to_integral_value(ROUND_HALF_EVEN)
        try:
            return _EPOCH + timedelta(microseconds=int(time_us))
        except OverflowError:
            raise ValueError("which is in no year from 1 to 9999") from None

    return read


def _form_of_dates(cells: Sequence[str]) -> ClockForm:
    """Of dates with the year at the end. Raises AmbiguousDates."""
    found = [match for cell in cells if (match := _DATE.fullmatch(cell.strip()))]
    shown = found[0][0]
    if found[0]["mark"] == "." or _has_days(match["first"] for match in found):
        return ClockForm(_reader_of_dates(has_month_first=False), _notice(shown, "day.month.year"))
    if _has_days(match["second"] for match in found):
        return ClockForm(_reader_of_dates(has_month_first=True), _notice(shown, "month/day/year"))
    raise AmbiguousDates(
        f"{shown!r} and all others can be day/month and month/day; say which it is: --time-format "
        f"{DAY_FIRST} or {MONTH_FIRST} (with %I:%M %p for 1:30 PM)"
    )


def _has_days(numbers: Iterable[str]) -> bool:
    return any(int(number) > _MONTHS for number in numbers)


def _notice(shown: str, form: str) -> str:
    return f"times such as {shown} are read as {form}"


def _reader_of_dates(*, has_month_first: bool) -> Callable[[str], datetime]:
    def read(cell: str) -> datetime:
        match = _DATE.fullmatch(cell.strip())
        if match is None:
            raise ValueError("which has another form than the times before it")
        first, second = int(match["first"]), int(match["second"])
        month, day = (first, second) if has_month_first else (second, first)
        hour = _hour(int(match["hour"] or 0), match["half"])
        rest = (hour, int(match["minute"] or 0), int(match["secs"] or 0))
        try:
            return datetime(
                int(match["year"]), month, day, *rest, int((match["part"] or "0").ljust(6, "0"))
            )
        except ValueError as error:
            order = "month/day/year" if has_month_first else "day/month/year"
            raise ValueError(f"which is no {order} ({error})") from None

    return read


def _hour(hour: int, half: str | None) -> int:
    """Of 24. `half`: A or P of a clock with 12 hours."""
    if half is None:
        return hour
    if not 1 <= hour <= _NOON:
        raise ValueError(f"which has the hour {hour} of 12")
    return hour % _NOON + (_NOON if half in "Pp" else 0)
