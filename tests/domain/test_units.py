"""Seconds that people give are told apart from what no clock can count."""

from __future__ import annotations

import math

import pytest

from motet.domain.errors import BadInput
from motet.domain.units import (
    LONGEST_S,
    check_seconds,
    duration_s,
    iso_seconds,
    iso_time,
    seconds,
    written_duration,
)
from motet.engine.policy_loading.catalogue import built_in_policies, parameters_of

SECONDS = [
    (name, field.name)
    for name, policy in built_in_policies().items()
    for field in parameters_of(policy)
    if field.name.endswith("_s")
]


@pytest.mark.parametrize(("value_s", "least_s"), [(0, 0), (1e-6, 1e-6), (LONGEST_S, 0), (2.5, 1)])
def test_seconds_within_their_bounds_pass(value_s: float, least_s: float) -> None:
    check_seconds("wait_s", value_s, least_s)


@pytest.mark.parametrize(
    ("value_s", "least_s", "text"),
    [
        (-1.0, 0, r"wait_s=-1\.0: give seconds, not below 0"),
        (1e-7, 1e-6, r"wait_s=1e-07: give seconds, at least 0\.000001"),
        (0.5, 1, r"wait_s=0\.5: give seconds, at least 1$"),
        (math.nan, 0, "wait_s=nan: give seconds"),
        (math.inf, 0, rf"wait_s=inf: give seconds, at most {LONGEST_S}"),
        (1e300, 1, rf"wait_s=1e\+300: give seconds, at most {LONGEST_S}"),
    ],
)
def test_others_are_refused_by_name(value_s: float, least_s: float, text: str) -> None:
    with pytest.raises(BadInput, match=text):
        check_seconds("wait_s", value_s, least_s)


@pytest.mark.parametrize(("name", "parameter"), SECONDS)
@pytest.mark.parametrize("value_s", [1e300, -1.0, math.nan])
def test_a_policy_refuses_them_before_it_runs(name: str, parameter: str, value_s: float) -> None:
    with pytest.raises(BadInput, match=rf"{parameter}=.*: give seconds"):
        built_in_policies()[name](**{parameter: value_s})


@pytest.mark.parametrize(
    ("value_s", "text"),
    [(0.5, "0.5s"), (90, "90s"), (100, "100s"), (5400, "90m"), (7200, "2h"), (2 * 86_400, "2d")],
)
def test_a_duration_is_written_as_it_is_read(value_s: float, text: str) -> None:
    assert written_duration(value_s) == text
    assert duration_s(text) == value_s


@pytest.mark.parametrize(
    ("unix_us", "text"),
    [
        (0, "1970-01-01T00:00:00+00:00"),
        (1_700_000_000_000_001, "2023-11-14T22:13:20.000001+00:00"),
        (-1, "1969-12-31T23:59:59.999999+00:00"),
    ],
)
def test_a_moment_is_written_in_utc(unix_us: int, text: str) -> None:
    assert iso_time(unix_us) == text
    assert iso_seconds(text) == pytest.approx(seconds(unix_us), abs=1e-6)
