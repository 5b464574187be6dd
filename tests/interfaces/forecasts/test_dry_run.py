"""What a submission would do, against what it really does."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.errors import BadInput
from motet.domain.units import SECOND_US, seconds
from motet.interfaces.forecasts.dry_run import DryRunQuestion, dry_run
from motet.interfaces.forecasts.followed_journal import FollowedJournal
from motet.live.journal.store import JournalStore
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy
from timed_master import TimedRows, play

CLUSTER = ClusterDeclared(("m0", "m1"), (4, 2))
NOON_US = 1_700_000_000 * SECOND_US
POLICIES = {"fifo": {}, "best-effort": {}, "tiresias-las": {"thresholds": "4,20"}, "srtf": {}}
"""`srtf` is told the run times here as on the live cluster."""
jobs = st.tuples(st.integers(0, 20), st.integers(1, 30), st.integers(1, 6))
Rows = Sequence[tuple[int, int, int]]


def timed(rows: Rows) -> TimedRows:
    return [(NOON_US + s * SECOND_US, run * SECOND_US, slots) for s, run, slots in rows]


def ends_of(rows: Rows, policy: str) -> dict[int, tuple[int, int]]:
    """Start and end of every job, in microseconds, when they really run."""
    with tempfile.TemporaryDirectory() as home:
        with JournalStore(f"{home}/journal.db") as store:
            chosen = ChoosePolicy(policy, POLICIES[policy])
            play(store, CLUSTER, timed(rows), chosen, declares=True)
        journal = FollowedJournal(f"{home}/journal.db")
        journal.read()
        found = {
            number: (job.attempts[0].requested_us, job.ended_us or 0)
            for number, job in journal.cluster.state.jobs.items()
        }
        journal.close()
        return found


def asked(
    rows: Rows, policy: str, now_s: int, declares: bool = True, **spec: Any
) -> dict[str, Any]:
    """The answer at a time at which the cluster runs these jobs."""
    now_us = NOON_US + now_s * SECOND_US
    values = {"name": "new", "run": "true", "workdir": "/", **spec}
    with tempfile.TemporaryDirectory() as home:
        with JournalStore(f"{home}/journal.db") as store:
            chosen = ChoosePolicy(policy, POLICIES[policy])
            play(store, CLUSTER, timed(rows), chosen, until_us=now_us, declares=declares)
        return dry_run(FollowedJournal(f"{home}/journal.db"), DryRunQuestion(values, "bob", now_us))


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=examples(6))
@given(
    drawn=st.lists(jobs, min_size=1, max_size=6).map(sorted),
    run_s=st.integers(1, 30),
    slots=st.integers(1, 6),
)
def test_with_known_run_times_start_and_delays_are_those_that_come_about(
    policy: str, drawn: Any, run_s: int, slots: int
) -> None:
    now_s = drawn[-1][0] + 1
    answer = asked(drawn, policy, now_s, processes=slots, duration_s=run_s)
    start_s = answer["expected_start"]
    without, with_it = ends_of(drawn, policy), ends_of([*drawn, (now_s, run_s, slots)], policy)
    new = len(drawn) + 1
    really_s = seconds(with_it[new][0] - NOON_US) - now_s
    assert start_s["low_s"] == start_s["median_s"] == start_s["high_s"] == really_s
    delays = {job: seconds(with_it[job][1] - without[job][1]) for job in without}
    later = {str(job): delay for job, delay in delays.items() if delay >= 1}
    assert {each["id"]: each["delay_s"] for each in answer["delayed"]} == later


def test_a_start_after_jobs_of_unknown_length_is_a_range() -> None:
    rows = [(second, 5 + 7 * second % 20, 6) for second in range(12)]
    answer = asked(rows, "fifo", 150, declares=False)
    start = answer["expected_start"]
    assert 0 <= start["low_s"] < start["median_s"] < start["high_s"]
    assert start["unknown_because"] == ""
    assert answer["run_time_s"] is not None


def test_a_start_after_a_job_of_which_nothing_is_known_is_unknown() -> None:
    answer = asked([(0, 100, 6)], "fifo", 10, declares=False)
    assert answer["expected_start"] == {
        "low_s": None,
        "median_s": None,
        "high_s": None,
        "unknown_because": "nothing is known of how long job 1 will run",
    }
    assert answer["delayed"] is None
    assert "give duration_s" in answer["delayed_unknown_because"]


def test_a_start_that_no_unknown_run_time_delays_is_known() -> None:
    answer = asked([(0, 100, 4)], "fifo", 10, declares=False, processes=2)
    assert answer["expected_start"]["high_s"] == 0


def test_what_a_submission_refuses_is_refused(tmp_path: Path) -> None:
    for spec, message in (
        ({"processes": 7}, "the cluster has 6 slots"),
        ({"queue": "ml"}, "unknown queue 'ml'"),
        ({"proceses": 1}, "proceses"),
        ({"after": [1]}, "leave it out of a dry run"),
        ({"array": "0-3"}, "array"),
    ):
        with pytest.raises(BadInput, match=message):
            asked([(0, 1, 1)], "fifo", 10, **spec)
