from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.sim.traces.times.time_stamps import TimeStamps, zone_named

HOUR_US = 3_600_000_000
MOMENT_US = int(datetime(2024, 3, 1, 10, 0, tzinfo=UTC).timestamp()) * 1_000_000


@pytest.mark.parametrize(
    ("cell", "after_us"),
    [
        ("2024-03-01T10:00:00Z", 0),
        ("2024-03-01 10:00:00.25Z", 250_000),
        ("2024-03-01T11:00:00+01:00", 0),
        ("20240301T100000Z", 0),
        ("2024-03-01 10:00:00 UTC", 0),
        ("2024-03-01 10:00:00.25 GMT", 250_000),
        (" 2024-03-01T10:00:00Z ", 0),
        ("2024-03-01T10:00:00", -HOUR_US),
        ("2024-03-01", -11 * HOUR_US),
    ],
)
def test_the_zone_is_of_times_without_one(cell: str, after_us: int) -> None:
    """Berlin is an hour ahead of UTC in winter."""
    assert TimeStamps(ZoneInfo("Europe/Berlin")).microseconds(cell) == MOMENT_US + after_us


@pytest.mark.parametrize("cell", ["", "UTC", "10:00", "03/01/2024", "2024-13-01", "1709287200"])
def test_other_cells_are_refused(cell: str) -> None:
    with pytest.raises(ValueError, match="which is not a time like 2017-10-09 07:01:55"):
        TimeStamps(None).microseconds(cell)


@given(
    st.datetimes(datetime(1975, 1, 1), datetime(2037, 1, 1)),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"]),
)
def test_times_are_those_of_the_zone_database(moment: datetime, name: str) -> None:
    zone = ZoneInfo(name)
    wanted = moment.replace(tzinfo=zone) - datetime(1970, 1, 1, tzinfo=UTC)

    assert TimeStamps(zone).microseconds(moment.isoformat()) == wanted // timedelta(microseconds=1)


def test_assumptions_are_stated_once() -> None:
    stamps = TimeStamps(None)
    assert stamps.notices() == ()
    for _ in range(3):
        stamps.microseconds("2024-03-01T10:00:00")
    assert len(stamps.notices()) == 1
    assert stamps.notices(says_utc=False) == ()


def test_zones_are_names_or_offsets() -> None:
    assert zone_named("utc") is UTC
    assert zone_named("+05:30").utcoffset(None) == timedelta(hours=5, minutes=30)
    assert str(zone_named("Asia/Tokyo")) == "Asia/Tokyo"
