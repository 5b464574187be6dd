"""What is drawn right of now: when a job is expected to start and to end. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

_UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Range:
    """Unix seconds. `high`: None: later than what was simulated."""

    low: float
    high: float | None


@dataclass(frozen=True, slots=True)
class Span:
    """`x`, `width`: per cent of what is drawn."""

    x: float
    width: float


@dataclass(frozen=True, slots=True)
class PredictedBar:
    """`likely`: from the earliest start to the latest end, as far as these are known; `sure`: from
    the latest start to the earliest end; None: it is unknown or not on the axis. `start`, `end`: in
    words; an empty `start`: the job runs."""

    likely: Span | None
    sure: Span | None
    start: str
    end: str


def expected_range(start: Mapping[str, Any], now_s: float) -> Range | None:
    """Of a start in seconds from now; None: unknown."""
    if start["high_s"] is None:
        return None
    return Range(now_s + start["low_s"], now_s + start["high_s"])


def end_range(end: Sequence[float | None], now_s: float) -> Range | None:
    """Of an end (`low`, `median`, `high`, Unix seconds); what has passed is now; None: unknown."""
    low, _, high = end
    if low is None:
        return None
    return Range(max(low, now_s), None if high is None else max(high, now_s))


def predicted_bar(
    start: Range | None,
    end: Range | None,
    axis: Range,
    *,
    because: str = "",
    runs: bool = False,
) -> PredictedBar:
    """`start`: of a job that `runs`: now. `because`: why the start is unknown. `axis`: what is
    drawn."""
    told = "" if runs else _words(start) + (f": {because}" if start is None and because else "")
    if start is None or (runs and end is None):
        return PredictedBar(None, None, told, _words(end))
    if end is None:
        likely, sure = _span(start.low, start.high, axis), None
    else:
        least = max(end.low, start.high or start.low)
        likely = _span(start.low, least if end.high is None else end.high, axis)
        sure = _span(start.high, end.low, axis)
    return PredictedBar(likely, sure, told, _words(end))


def _span(begin: float | None, end: float | None, axis: Range) -> Span | None:
    """The part on the axis."""
    if begin is None or end is None or axis.high is None:
        return None
    left, right = max(begin, axis.low), min(end, axis.high)
    if right <= left:
        return None
    scale = 100 / (axis.high - axis.low)
    return Span(round((left - axis.low) * scale, 3), round((right - left) * scale, 3))


def _words(found: Range | None) -> str:
    if found is None:
        return _UNKNOWN
    if found.high is None:
        return f"{_clock(found.low)} or later"
    low, high = _clock(found.low), _clock(found.high)
    return low if low == high else f"{low} to {high}"


def _clock(at_s: float) -> str:
    """Local time of the server, with the date unless it is today's."""
    at = datetime.fromtimestamp(at_s).astimezone()
    is_today = at.date() == datetime.now().astimezone().date()
    return at.strftime("%H:%M:%S" if is_today else "%Y-%m-%d %H:%M:%S")
