"""Exact conversion of cells to integers. Parsers raise ValueError with the reason."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal, InvalidOperation

from motet.domain.units import GIGA, LONGEST_S, MILLISECOND_US, SECOND_US

MOST_GPUS = 1_000_000_000
MOST_DEMAND = 10**15
_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9-]*[0-9]+:[0-9]{2}")
DECIMAL_COMMA = re.compile("-?[0-9]+,[0-9]+")
_MOST_DIGITS = 15
_MOST_POWER = 30
_LONGEST_US = LONGEST_S * SECOND_US
_YEARS = LONGEST_S // (365 * 24 * 3600)


def seconds_us(cell: str) -> int:
    """Seconds as microseconds."""
    return _scaled(cell, SECOND_US)


def milliseconds_us(cell: str) -> int:
    """Milliseconds as microseconds."""
    return _scaled(cell, MILLISECOND_US)


def whole_number(cell: str) -> int:
    """A count: `4`, or `4.0` as some tools write it."""
    if cell.isdecimal() and len(cell) <= _MOST_DIGITS:
        return _counted(int(cell))
    value = decimal_number(cell)
    if abs(value) > MOST_GPUS:
        raise ValueError(f"which is beyond {MOST_GPUS:,}")
    if value != value.to_integral_value():
        raise ValueError("which is not a whole number")
    return int(value)


def whole_or_more(cell: str) -> int:
    """A demand, rounded up to whole units: half a CPU counts as one."""
    return _demanded(cell, 1)


def gigabytes(cell: str) -> int:
    """Gigabytes as bytes, rounded up."""
    return _demanded(cell, GIGA)


def decimal_number(cell: str) -> Decimal:
    """Any number below 10**31."""
    try:
        value = Decimal(cell.strip())
    except InvalidOperation:
        raise ValueError(f"which is not a number{_hint(cell.strip())}") from None
    if not value.is_finite():
        raise ValueError("which is not a finite number")
    if value.adjusted() > _MOST_POWER:
        raise ValueError("which is far too large")
    return value


def _hint(cell: str) -> str:
    if DECIMAL_COMMA.fullmatch(cell):
        return "; write decimals with a point, as 1.5"
    if _DATE.match(cell):
        return "; give --format table to read dates and durations such as 1:30:00"
    return ""


def rounded_us(time_us: Decimal) -> int:
    """The nearest whole microsecond, within the limits of the simulator."""
    if abs(time_us) > _LONGEST_US:
        raise ValueError(f"which is beyond {_YEARS} years")
    return int(time_us.to_integral_value(ROUND_HALF_EVEN))


def since_first(times_us: Sequence[int], unknown: Collection[int]) -> tuple[list[int], int]:
    """Times relative to the earliest, 0 for the rows in `unknown`; and that earliest time."""
    if not unknown:
        first_us = min(times_us, default=0)
        return [time_us - first_us for time_us in times_us], first_us
    known = [time_us for row, time_us in enumerate(times_us) if row not in unknown]
    first_us = min(known, default=0)
    since = [0 if row in unknown else time - first_us for row, time in enumerate(times_us)]
    return since, first_us


def _demanded(cell: str, unit: int) -> int:
    if cell.isdecimal() and len(cell) + len(str(unit)) <= _MOST_DIGITS:
        return int(cell) * unit
    value = decimal_number(cell) * unit
    if not 0 <= value <= MOST_DEMAND:
        raise ValueError(f"which is not within 0 and {MOST_DEMAND // unit:,}")
    return int(value.to_integral_value(ROUND_CEILING))


def _scaled(cell: str, unit_us: int) -> int:
    if cell.isdecimal() and len(cell) <= _MOST_DIGITS:
        return _in_range(int(cell) * unit_us)
    return rounded_us(decimal_number(cell) * unit_us)


def _in_range(time_us: int) -> int:
    if time_us > _LONGEST_US:
        raise ValueError(f"which is beyond {_YEARS} years")
    return time_us


def _counted(count: int) -> int:
    if count > MOST_GPUS:
        raise ValueError(f"which is beyond {MOST_GPUS:,}")
    return count
