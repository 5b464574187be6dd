"""What a form asks for, and what it is told when it is wrong."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from motet.domain.errors import BadInput
from motet.interfaces.server.what_if.replay_form import PERIODS, policies, wanted_replay
from motet.live.master.policy_choice import policy_of

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)


def since(**given: str) -> datetime | None:
    since_us = wanted_replay({"policy": "fifo", **given}, NOW).since_us
    return None if since_us is None else datetime.fromtimestamp(since_us / 1e6, UTC)


def test_a_period_ends_now() -> None:
    assert since(period="all jobs") is None
    assert since(period="the last day") == NOW - timedelta(days=1)
    for period in PERIODS:
        since(period=period)


def test_a_moment_goes_before_the_period() -> None:
    found = since(period="the last day", moment="2026-11-30T08:00")
    assert found == datetime(2026, 11, 30, 8, tzinfo=UTC)
    assert since(moment="2h") == NOW - timedelta(hours=2)  # As `motet whatif --since` takes it.


def test_parameters_stand_on_lines_of_their_own() -> None:
    given = {"policy": "tiresias-las", "period": "all jobs"}
    wanted = wanted_replay({**given, "settings": " thresholds=4,20 \n\n quantum_s = 1\r\n"}, NOW)
    assert wanted.settings == {"thresholds": "4,20", "quantum_s": "1"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"period": "yesterday"}, "choose a period"),
        ({"moment": "soon"}, "moment soon: give 2h, 7d, or a date as"),
        ({"moment": "2027-01-01T00:00"}, "moment 2027-01-01T00:00: is in the future"),
        ({"period": "all jobs", "settings": "quantum_s 1"}, "NAME=VALUE"),
        ({"period": "all jobs", "settings": "=1"}, "NAME=VALUE"),
        ({"period": "all jobs", "settings": "x" * 5000}, "4096 characters"),
    ],
)
def test_what_is_wrong_is_said(given: dict[str, str], told: str) -> None:
    with pytest.raises(BadInput, match=told):
        wanted_replay({"policy": "fifo", **given}, NOW)


def test_the_parameters_of_the_form_are_those_of_the_policies() -> None:
    for each in policies():
        settings = dict(text.split("=", 1) for text in each["parameters"])
        given = {name: value for name, value in settings.items() if value}
        assert policy_of(each["name"], given) == policy_of(each["name"], {})
