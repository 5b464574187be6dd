"""Numbers for people."""

from __future__ import annotations

import math

import pytest

from motet.report.rendering.quantities import (
    bytes_text,
    count_text,
    duration_text,
    number_text,
    rate_text,
)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (950, "950 B"),
        (1_500, "1.5 kB"),
        (12_300_000, "12.3 MB"),
        (999_600, "1.0 MB"),
        (640_000_000, "640 MB"),
        (3.2e12, "3.2 TB"),
    ],
)
def test_bytes_have_a_decimal_unit(count: float, text: str) -> None:
    assert bytes_text(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.0 s"),
        (0.0004, "1 ms"),
        (0.034, "34 ms"),
        (0.84, "0.8 s"),
        (42.2, "42 s"),
        (59.7, "1:00"),
        (187, "3:07"),
        (3765, "1:02:45"),
        (math.nan, "-"),
        (math.inf, "-"),
    ],
)
def test_durations_grow_from_seconds_to_hours(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("rate", "text"),
    [(940, "940"), (9_990, "9,990"), (35_200, "35.2 k"), (999_700, "1.00 M"), (4.1e6, "4.10 M")],
)
def test_rates_are_short(rate: float, text: str) -> None:
    assert rate_text(rate) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.28731, "0.2873"),
        (12.3456, "12.346"),
        (3842.11, "3842.1"),
        (388318.92, "388,319"),
        (37.0, "37"),
        (-8.2098, "-8.2098"),
        (0.000012, "1.2e-05"),
        (math.nan, "nan"),
    ],
)
def test_losses_keep_about_five_digits(value: float, text: str) -> None:
    assert number_text(value) == text


def test_one_thing_has_no_plural() -> None:
    assert (count_text(1, "server"), count_text(2, "server")) == ("1 server", "2 servers")
