"""Time in integer microseconds, service in integer GPU-microseconds: no drift, exact ties."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation

from motet.domain.errors import BadInput

MILLISECOND_US = 1_000
SECOND_US = 1_000_000
HOUR_US = 3600 * SECOND_US
NEVER_US = 2**62
"""Later than every event; the sum with any duration still fits into 64 bits."""

LONGEST_S = NEVER_US // SECOND_US // 1000
SHORTEST_S = 1 / SECOND_US
GIGA = 10**9
FULL_SPEED = 10_000
"""The unit of speeds: that of a job on exclusive, consolidated GPUs of its full request."""


DURATION_PATTERN = r"([0-9]{1,9}(?:\.[0-9]{1,6})?)([smhd]?)"
"""Durations that users write: seconds, or a number with a unit."""
_WORDS_S = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
_UNITS_S = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}


def duration_s(text: str) -> float:
    """Seconds, above 0, from `90`, `90s`, `30m`, `1.5h` or `2d`. Raises BadInput."""
    found = re.fullmatch(DURATION_PATTERN, text)
    value_s = float(found[1]) * _UNITS_S[found[2]] if found else 0.0
    if not value_s:
        raise BadInput(f"{text!r:.60}: give seconds, or a time as 90s, 30m, 2h or 1d")
    return value_s


def written_duration(value_s: float) -> str:
    """The shortest form that `duration_s` reads: `2h` for 7200, `90s` for 90."""
    units = [unit for unit in "dhms" if value_s % _UNITS_S[unit] == 0]
    unit = units[0] if units else "s"
    return f"{exact_seconds(microseconds(value_s / _UNITS_S[unit]))}{unit}"


def duration_words(duration_us: int) -> str:
    """A duration in its two largest units: "0.25 s", "42 s", "12 min 40 s", "3 h 5 min"."""
    whole_s = round(duration_us / SECOND_US)
    if whole_s < 10:
        return f"{round(duration_us / SECOND_US, 3):g} s"
    sizes = [size for _, size in _WORDS_S]
    largest = next(place for place, size in enumerate(sizes) if whole_s >= size)
    parts = []
    for name, size in _WORDS_S[largest : largest + 2]:
        count, whole_s = divmod(whole_s, size)
        parts.append(f"{count} {name}" if count else "")
    return " ".join(filter(None, parts))


def microseconds(seconds: float | int | str) -> int:
    """Seconds as microseconds, exact for text such as "12.000001".

    Raises BadInput for a value that is not a number between -146 and 146 years.
    """
    try:
        value = Decimal(str(seconds))
        in_range = abs(value) <= LONGEST_S
    except InvalidOperation:
        in_range = False
    if not in_range:
        raise BadInput(f"{seconds!r} is not a number of seconds within {LONGEST_S} of 0")
    return int((value * SECOND_US).to_integral_value(ROUND_HALF_EVEN))


def check_seconds(name: str, value_s: float, least_s: float = 0.0) -> None:
    """Raises BadInput for a parameter that is below `least_s`, not a number, or too large."""
    if value_s > LONGEST_S:
        raise BadInput(f"{name}={value_s}: give seconds, at most {LONGEST_S}")
    if not value_s >= least_s:
        least = f"at least {exact_seconds(microseconds(least_s))}" if least_s else "not below 0"
        raise BadInput(f"{name}={value_s}: give seconds, {least}")


def seconds(time_us: float) -> float:
    """Microseconds as seconds."""
    return time_us / SECOND_US


def iso_time(unix_us: int) -> str:
    """Unix time as ISO 8601 in UTC, as all JSON documents have it."""
    whole_s, micros = divmod(unix_us, SECOND_US)
    return datetime.fromtimestamp(whole_s, UTC).replace(microsecond=micros).isoformat()


def iso_seconds(iso: str) -> float:
    """ISO 8601 as Unix time."""
    return datetime.fromisoformat(iso).timestamp()


def exact_seconds(time_us: int) -> str:
    """Microseconds as the shortest text of the same number of seconds: "12.5", "-0.000001"."""
    whole, fraction = divmod(abs(time_us), SECOND_US)
    sign = "-" if time_us < 0 else ""
    if not fraction:
        return f"{sign}{whole}"
    return f"{sign}{whole}.{fraction:06}".rstrip("0")
