"""Moments in the time zone of this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from motet.interfaces.cli.screens.local_clock import date_and_time_of


@pytest.fixture(autouse=True)
def zone() -> Iterator[None]:
    """Two hours east of Greenwich."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "EET-2"
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


def test_a_moment_in_utc_is_shown_in_the_zone_of_the_machine() -> None:
    assert date_and_time_of("1970-01-02T00:00:00.500000+00:00") == "1970-01-02 02:00:00"


def test_no_moment_has_the_given_text() -> None:
    assert date_and_time_of(None) == "-"
    assert date_and_time_of(None, "never") == "never"
