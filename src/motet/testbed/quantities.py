"""Parses bandwidths, CPU quotas, memory sizes and durations: `50mbit`, `1gb`, `30s`."""

from __future__ import annotations

import math
import re

from motet.domain.errors import BadInput

BIT_UNITS = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
BYTE_UNITS = {"kb": 10**3, "mb": 10**6, "gb": 10**9}
TIME_UNITS = {"s": 1, "min": 60}
LONGEST_S = 3600
SLOWEST_BPS, FASTEST_BPS = 64 * 10**3, 100 * 10**9
LEAST_MEMORY_BYTES, MOST_MEMORY_BYTES = 16 * 10**6, 100 * 10**12
LEAST_OBJECT_STORE_BYTES = 80 * 10**6
# A quota is at least a millisecond (see `cgroups.LEAST_QUOTA_US`).
LEAST_CPUS, MOST_CPUS = 0.05, 1024.0


def bandwidth_of(text: str, place: str) -> int:
    """Parse `50mbit` to bits per second. Raises BadInput that begins with `place`."""
    value = _amount(text, BIT_UNITS)
    if value is None or not SLOWEST_BPS <= value <= FASTEST_BPS:
        raise BadInput(
            f"{place}: {text!r} is not a bandwidth; write 50mbit, from 64kbit to 100gbit"
        )
    return round(value)


def memory_of(text: str, place: str) -> int:
    """Parse `512mb` to bytes. Raises BadInput that begins with `place`."""
    value = _amount(text, BYTE_UNITS)
    if value is None or not LEAST_MEMORY_BYTES <= value <= MOST_MEMORY_BYTES:
        raise BadInput(f"{place}: {text!r} is not a memory limit; write 512mb, from 16mb on")
    return round(value)


def object_store_of(text: str, place: str) -> int:
    """Parse `80mb` to bytes; Ray requires 79 MB. Raises BadInput that begins with `place`."""
    value = _amount(text, BYTE_UNITS)
    if value is None or not LEAST_OBJECT_STORE_BYTES <= value <= MOST_MEMORY_BYTES:
        raise BadInput(f"{place}: {text!r} is too small or not a size; write 80mb, Ray's smallest")
    return round(value)


def cpus_of(text: str, place: str) -> float:
    """Parse `0.2` to a number of CPUs. Raises BadInput that begins with `place`."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not LEAST_CPUS <= value <= MOST_CPUS:
        raise BadInput(
            f"{place}: {text!r} is not a number of CPUs; write 0.2, from {LEAST_CPUS} to "
            f"{MOST_CPUS:.0f}"
        )
    return value


def seconds_of(text: str, place: str) -> int:
    """Parse `30s` or `2min` to whole seconds. Raises BadInput that begins with `place`."""
    value = _amount(text, TIME_UNITS)
    if value is None or value != round(value) or value > LONGEST_S:
        raise BadInput(f"{place}: {text!r} is not a time; write 30s or 2min, up to an hour")
    return round(value)


def bandwidth_text(bits_per_s: int) -> str:
    """Format bits per second as `bandwidth_of` parses them: `50mbit`."""
    for unit, size in sorted(BIT_UNITS.items(), key=lambda entry: -entry[1]):
        if bits_per_s >= size:
            return f"{bits_per_s / size:.6g}{unit}"
    return f"{bits_per_s}bit"


def _amount(text: str, units: dict[str, int]) -> float | None:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", text.lower())
    if found is None or found[2] not in units:
        return None
    return float(found[1]) * units[found[2]]
