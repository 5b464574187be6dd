"""Sentences about expected starts."""

from __future__ import annotations

from typing import Any

from motet.insight.expected_start import expected_start_words, later_view


def start(
    *times: float | None, because: str = "", overdue_s: float | None = None
) -> dict[str, Any]:
    return {
        **dict(zip(("low_s", "median_s", "high_s"), times, strict=True)),
        "unknown_because": because,
        "overdue_s": overdue_s,
    }


def words(given: dict[str, Any]) -> str:
    return expected_start_words(given, 1000.0, lambda unix_s: f"{unix_s:g}")


def test_a_range_names_its_ends_and_its_middle() -> None:
    told = words(start(0.0, 90.0, 7200.0))
    assert told == "at once to 2 h, in half of all cases within 1 min 30 s (1000 to 8200)"
    assert words(start(60.0, 90.0, 120.0)).startswith("in 1 min to 2 min, ")
    told = words(start(0.0, 0.186, 3.608))
    assert told == "at once to 3.6 s, in half of all cases at once (1000 to 1003.61)"


def test_what_is_certain_is_a_time() -> None:
    assert words(start(0.0, 0.0, 0.5)) == "at once"
    assert words(start(60.0, 60.0, 60.0)) == "in 1 min (1060)"


def test_what_is_unknown_has_a_reason() -> None:
    assert words(start(None, None, None, because="no")) == "unknown: no"


def test_later_less_time_is_left_and_the_past_is_now() -> None:
    assert later_view(start(10.0, 60.0, 90.0), 20.0) == start(0.0, 40.0, 70.0)
    assert later_view(start(None, None, None, because="no"), 20.0)["high_s"] is None


def test_a_range_that_has_passed_is_no_start_at_once() -> None:
    late = later_view(start(10.0, 60.0, 90.0), 120.0)
    assert late == start(None, None, None, because="its range has passed", overdue_s=30.0)
    assert words(late) == "overdue: expected until 970; unknown now"
    assert words(later_view(start(10.0, 60.0, 90.0), 90.5)) == "at once"


def test_the_answer_of_a_server_that_knows_no_overdue_starts_is_told() -> None:
    older = start(0.0, 0.0, 0.0)
    del older["overdue_s"]
    assert words(older) == "at once"
