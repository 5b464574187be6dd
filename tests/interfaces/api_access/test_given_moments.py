"""Moments that a user gives."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from motet.domain.errors import BadInput
from motet.interfaces.api_access.given_moments import coming_moment, past_moment


@pytest.mark.parametrize(
    ("text", "ago"),
    [("90m", timedelta(minutes=90)), ("2h", timedelta(hours=2)), ("1w", timedelta(days=7))],
)
def test_a_period_begins_some_time_ago(text: str, ago: timedelta) -> None:
    now = datetime(2026, 12, 1, 8, 30).astimezone()
    assert now - past_moment("--since", text, now) == ago


def test_a_period_begins_at_a_date() -> None:
    now = datetime(2026, 12, 1, 8, 30).astimezone()
    assert past_moment("--since", "2026-11-30", now) == datetime(2026, 11, 30).astimezone()
    for text in ("2026-12-02", "yesterday", "2026-13-01", "h", "999999w"):
        with pytest.raises(BadInput, match=f"--since {text}: "):
            past_moment("--since", text, now)


NOW = datetime(2026, 11, 23, 18, 0, tzinfo=timezone(timedelta(hours=1)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("18:30", NOW + timedelta(minutes=30)),
        ("17:59", NOW + timedelta(days=1, minutes=-1)),
        ("2026-12-01T08:00", datetime(2026, 12, 1, 7, 0, tzinfo=UTC)),
        ("2026-12-01T08:00+00:00", datetime(2026, 12, 1, 8, 0, tzinfo=UTC)),
    ],
)
def test_a_time_to_come(text: str, expected: datetime) -> None:
    assert coming_moment("--at", text, NOW) == expected


@pytest.mark.parametrize("text", ["", "soon", "25:00", "2026-13-01T00:00"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="give a time as 18:30"):
        coming_moment("--at", text, NOW)
