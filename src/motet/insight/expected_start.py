"""Sentences about when a job is expected to start. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from motet.domain.units import duration_words, microseconds

_AT_ONCE_S = 1.0
_TENTHS_BELOW_S = 10.0


def expected_start_words(
    start: Mapping[str, Any], now_s: float, clock: Callable[[float], str]
) -> str:
    """`at once`, a time or a range from now on; `unknown` with the reason; `overdue`.

    `start`: `low_s`, `median_s`, `high_s` from `now_s` (Unix time) on, and `unknown_because`, see
    `later_view`. `clock`: a Unix time in words.
    """
    if start.get("overdue_s") is not None:  # An older server does not tell.
        return f"overdue: expected until {clock(now_s - start['overdue_s'])}; unknown now"
    if start["high_s"] is None:
        return f"unknown: {start['unknown_because']}"
    if start["high_s"] < _AT_ONCE_S:
        return "at once"
    low, median, high = (rough_words(start[f"{name}_s"]) for name in ("low", "median", "high"))
    first, last = clock(now_s + start["low_s"]), clock(now_s + start["high_s"])
    if low == high:
        return f"in {low} ({first})"
    soonest = "at once" if start["low_s"] < _AT_ONCE_S else f"in {low}"
    half = "at once" if start["median_s"] < _AT_ONCE_S else f"within {median}"
    return f"{soonest} to {high}, in half of all cases {half} ({first} to {last})"


def rough_words(seconds: float) -> str:
    """A duration in whole seconds, in tenths of one if it is short."""
    rounded = round(seconds, 1) if seconds < _TENTHS_BELOW_S else round(seconds)
    return duration_words(microseconds(str(rounded)))


def later_view(start: Mapping[str, Any], passed_s: float) -> dict[str, Any]:
    """The same expectation when some time has passed; what lies in the past is now.

    A range that has passed says nothing: `overdue_s` is for how long (None: it has not).
    """
    names = ("low_s", "median_s", "high_s")
    times = {name: start[name] for name in names}
    if times["high_s"] is not None and (over_s := passed_s - times["high_s"]) > _AT_ONCE_S:
        return {**unknown_start("its range has passed"), "overdue_s": over_s}
    later = {name: None if at is None else max(at - passed_s, 0.0) for name, at in times.items()}
    return {**later, "unknown_because": start["unknown_because"], "overdue_s": None}


def unknown_start(because: str) -> dict[str, Any]:
    """The expectation of a start of which nothing is known."""
    times = dict.fromkeys(("low_s", "median_s", "high_s"))
    return {**times, "unknown_because": because, "overdue_s": None}
