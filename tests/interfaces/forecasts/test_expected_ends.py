"""Expected ends against what really happens, and what is not known."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.units import SECOND_US
from motet.interfaces.forecasts.draws.future import TooMuch
from motet.interfaces.forecasts.expected_ends import ExpectedEnd, expected_ends
from motet.interfaces.forecasts.expected_starts import (
    FEWEST_FUTURES,
    simulated_futures,
    starts_in,
)
from motet.interfaces.forecasts.followed_journal import FollowedJournal
from motet.interfaces.forecasts.futures import Foresight, PossibleFutures
from motet.live.journal.store import JournalStore
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy
from soak_cases import others_in_soak
from timed_master import TimedRows, play

CLUSTER = ClusterDeclared(("m0", "m1"), (4, 2))
NOON_US = 1_700_000_000 * SECOND_US
jobs = st.tuples(st.integers(0, 20), st.integers(1, 30), st.integers(1, 6))


def timed(rows: Any) -> TimedRows:
    return [(NOON_US + s * SECOND_US, run * SECOND_US, slots) for s, run, slots in rows]


def futures_of(home: str, rows: Any, policy: str, now_us: int, declares: bool) -> PossibleFutures:
    address = f"{home}/{policy}-{now_us}.db"
    with JournalStore(address) as store:
        play(store, CLUSTER, timed(rows), ChoosePolicy(policy), until_us=now_us, declares=declares)
    journal = FollowedJournal(address)
    journal.read()
    foresight = Foresight.DECLARED if declares else Foresight.PRESENT
    futures = PossibleFutures(journal.cluster, now_us, journal.position, None, foresight)
    journal.close()
    return futures


def predicted(futures: PossibleFutures) -> dict[int, ExpectedEnd]:
    return expected_ends(futures, simulated_futures(futures, futures.waiting, lambda _: None))


@pytest.mark.parametrize("policy", others_in_soak(["fifo", "best-effort", "srtf"], ["best-effort"]))
@settings(max_examples=examples(8))
@given(drawn=st.lists(jobs, min_size=1, max_size=6).map(sorted))
def test_ends_are_exact_where_users_tell_the_run_times(policy: str, drawn: Any) -> None:
    now_us = NOON_US + drawn[-1][0] * SECOND_US + 1
    with tempfile.TemporaryDirectory() as home:
        found = predicted(futures_of(home, drawn, policy, now_us, declares=True))
        with JournalStore(f"{home}/all.db") as store:
            play(store, CLUSTER, timed(drawn), ChoosePolicy(policy), declares=True)
        journal = FollowedJournal(f"{home}/all.db")
        journal.read()
        really = {job.number: job.ended_us for job in journal.cluster.state.jobs.values()}
        journal.close()
    left = {number: end_us for number, end_us in really.items() if (end_us or 0) > now_us}
    assert found.keys() == left.keys()
    for number, end_us in left.items():
        assert abs(found[number].low_us - (end_us or 0)) <= 1000
        assert found[number].low_us == found[number].median_us == found[number].high_us


def test_a_job_of_which_nothing_is_known_has_no_end() -> None:
    rows = [(0, 100, 6), (1, 50, 2)]
    with tempfile.TemporaryDirectory() as home:
        futures = futures_of(home, rows, "fifo", NOON_US + 5 * SECOND_US, declares=False)
    assert predicted(futures) == {}


def test_an_end_beyond_what_was_simulated_is_open() -> None:
    """Nothing waits, so one hour is simulated."""
    rows = [(0, 4000, 1), (1, 100, 1)]
    with tempfile.TemporaryDirectory() as home:
        found = predicted(futures_of(home, rows, "fifo", NOON_US + 5 * SECOND_US, declares=True))
    assert found.keys() == {2}


def test_an_end_that_some_futures_are_not_simulated_until_is_open() -> None:
    rows = [(0, 1000, 1), (1, 100, 1)]
    with tempfile.TemporaryDirectory() as home:
        futures = futures_of(home, rows, "fifo", NOON_US + 5 * SECOND_US, declares=True)
    simulated = simulated_futures(futures, futures.waiting, lambda _: None)
    assert expected_ends(futures, simulated).keys() == {1, 2}
    shorter = replace(simulated, until_us=NOON_US + 900 * SECOND_US)
    assert expected_ends(futures, shorter).keys() == {2}


def test_too_much_to_simulate_predicts_nothing() -> None:
    calls = iter(range(FEWEST_FUTURES - 1))

    def check(work: int) -> None:
        assert work > 0
        if next(calls, None) is None:
            raise TooMuch

    rows = [(number, 30 + 7 * number, 2) for number in range(20)]
    with tempfile.TemporaryDirectory() as home:
        futures = futures_of(home, rows, "fifo", NOON_US + 300 * SECOND_US, declares=False)
    assert not futures.are_equal
    simulated = simulated_futures(futures, futures.waiting, check)
    assert simulated.count == 0
    assert expected_ends(futures, simulated) == {}
    starts = starts_in(futures, futures.waiting, simulated)
    assert starts.keys() == futures.waiting != set()
    assert {each.because for each in starts.values()} == {"there is too much to simulate"}
