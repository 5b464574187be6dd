"""Submissions that may follow: how many, when and of which kind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from motet.domain.units import SECOND_US
from motet.interfaces.forecasts.draws.later_submissions import (
    LATEST,
    MOST_DRAWN,
    DrawnSubmission,
    LatestSubmissions,
)
from motet.live.jobs.job import LiveJob
from motet.live.master.state import LiveState
from timed_master import spec_of

NOW_US = 1_700_000_000 * SECOND_US


def latest(*ages_s: float) -> LatestSubmissions:
    """Of jobs that were submitted so long ago."""
    state = LiveState()
    for number, age_s in enumerate(ages_s, 1):
        submitted_us = NOW_US - round(age_s * SECOND_US)
        state.jobs[number] = LiveJob(number, spec_of(number % 8 + 1), "ann", submitted_us)
    return LatestSubmissions.of(state, NOW_US)


def futures(found: LatestSubmissions, count: int = 2000) -> list[list[DrawnSubmission]]:
    return [found.drawn(NOW_US, np.random.default_rng(seed)) for seed in range(count)]


def test_without_two_submissions_none_follows() -> None:
    for found in (latest(), latest(10.0)):
        assert futures(found, 100) == [[]] * 100


def test_after_a_pause_longer_than_all_before_none_follows() -> None:
    assert futures(latest(100, 90, 80, 60, 45), 200) == [[]] * 200


@pytest.mark.soak
def test_a_pause_makes_further_submissions_less_probable() -> None:
    """Of nine gaps eight or two are longer than the pause: none follows in 1 of 9 or of 3."""
    gaps_s = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9])
    for quiet_s, longer in ((1.5, 8), (7.5, 2)):
        ages_s = quiet_s + np.concatenate([np.cumsum(gaps_s)[::-1], [0]])
        drawn = futures(replace(latest(*ages_s), gaps_us=gaps_s * SECOND_US))
        has_next = np.mean([bool(each) for each in drawn])
        expected = longer / (longer + 1)
        # The period itself ends before the next submission in some futures.
        assert expected - 0.15 < has_next <= expected + 0.03
        first_us = [each[0].at_us for each in drawn if each]
        assert min(first_us) > NOW_US


@pytest.mark.soak
def test_submissions_go_on_for_as_long_again_in_half_of_the_futures() -> None:
    """Gott's principle; twenty gaps, so that the age is that of the period."""
    found = latest(*range(20, -1, -1))
    ends_us = [each[-1].at_us - NOW_US if each else 0 for each in futures(found)]
    share = np.mean([end_us > 19 * SECOND_US for end_us in ends_us])
    assert 0.42 < share < 0.54
    assert max(map(len, futures(found))) == MOST_DRAWN


def test_what_follows_is_like_the_latest_submissions() -> None:
    found = latest(*np.arange(LATEST + 30, 0, -1.0) * 10 - 5)
    assert len(found.jobs) == LATEST
    drawn = [each for future in futures(found, 200) for each in future]
    assert {each.like.number for each in drawn} == {*range(31, LATEST + 31)}
    assert all(each.at_us > NOW_US for each in drawn)


def test_jobs_that_were_submitted_at_once_are_followed_by_nothing_later() -> None:
    assert futures(latest(*[50.0] * 20), 100) == [[]] * 100
