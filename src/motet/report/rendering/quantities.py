"""Short texts of numbers: bytes, durations, rates and losses."""

from __future__ import annotations

import math


def bytes_text(count: float) -> str:
    """Bytes with a decimal unit: `950 B`, `12.3 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(count) < 999.5:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 99.95 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} TB"


def duration_text(seconds: float) -> str:
    """`12 ms`, `0.8 s`, `42 s`, `3:07`, `1:02:45`; an unknown duration (NaN, infinite) is `-`."""
    if not math.isfinite(seconds):
        return "-"
    if 0 < seconds < 0.0995:
        return f"{max(1, round(1000 * seconds))} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if round(seconds) < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def rate_text(per_second: float) -> str:
    """A rate per second: `940`, `35.2 k`, `4.10 M`."""
    if per_second < 9_995:
        return f"{per_second:,.0f}"
    if per_second < 999_500:
        return f"{per_second / 1e3:.1f} k"
    return f"{per_second / 1e6:.2f} M"


def number_text(value: float) -> str:
    """A loss or metric with four or five significant digits; whole numbers without a fraction."""
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e7:
        return f"{int(value):,}"
    if 1e-3 <= abs(value) < 1e4:
        return f"{value:.{max(0, 4 - max(0, math.floor(math.log10(abs(value)))))}f}"
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e7 else f"{value:.4g}"


def count_text(number: int, noun: str) -> str:
    """`1 server`, `2 servers`, `82,247 jobs`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def quantity(value: float) -> str:
    """Seconds with about four digits: `0.52`, `93.1`, `8,146`."""
    if not math.isfinite(value):
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def uncertainty_text(value: float) -> str:
    """The half-width of an interval: `1.3`, `43`, `212`."""
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"
