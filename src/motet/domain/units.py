"""Time is whole microseconds, service whole GPU-microseconds: no drift, exact ties."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation

from motet.domain.errors import BadInput

SECOND_US = 1_000_000
HOUR_US = 3600 * SECOND_US
NEVER_US = 2**62
"""Later than every event; still far from the limit of 64 bits when a duration is added."""

LONGEST_S = NEVER_US // SECOND_US // 1000


def microseconds(seconds: float | int | str) -> int:
    """Seconds as microseconds, exact for text such as "12.000001".

    Raises BadInput for what is not a number between -146 and 146 years.
    """
    try:
        value = Decimal(str(seconds))
        in_range = abs(value) <= LONGEST_S
    except InvalidOperation:
        in_range = False
    if not in_range:
        raise BadInput(f"{seconds!r} is not a number of seconds within {LONGEST_S} of 0")
    return int((value * SECOND_US).to_integral_value(ROUND_HALF_EVEN))


def seconds(time_us: float) -> float:
    """Microseconds as seconds."""
    return time_us / SECOND_US


def exact_seconds(time_us: int) -> str:
    """Microseconds as the shortest text of the same number of seconds: "12.5", "-0.000001"."""
    whole, fraction = divmod(abs(time_us), SECOND_US)
    sign = "-" if time_us < 0 else ""
    return f"{sign}{whole}.{fraction:06}".rstrip("0").rstrip(".")
