"""What a submission would do, against what it really does."""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.errors import BadInput
from motet.domain.units import SECOND_US, seconds
from motet.interfaces.forecasts.dry_runs.budget import DryRunBudget
from motet.interfaces.forecasts.dry_runs.dry_run import DryRunQuestion, dry_run
from motet.interfaces.forecasts.followed_journal import FollowedJournal
from motet.interfaces.forecasts.futures import Foresight
from motet.live.jobs.array_file import array_spec
from motet.live.jobs.job_file import job_spec
from motet.live.journal.store import JournalStore
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy
from motet.live.master.submissions.submission import Submit, SubmitArray
from soak_cases import others_in_soak
from timed_master import TimedRows, play

CLUSTER = ClusterDeclared(("m0", "m1"), (4, 2))
NOON_US = 1_700_000_000 * SECOND_US
POLICIES = {"fifo": {}, "best-effort": {}, "tiresias-las": {"thresholds": "4,20"}, "srtf": {}}
"""`srtf` is told the run times here as on the live cluster."""
JOB = {"name": "new", "run": "true", "workdir": "/"}
jobs = st.tuples(st.integers(0, 20), st.integers(1, 30), st.integers(1, 6))
Rows = Sequence[tuple[int, int, int]]
IDLE: Rows = [(0, 1, 1)]


def timed(rows: Rows) -> TimedRows:
    return [(NOON_US + s * SECOND_US, run * SECOND_US, slots) for s, run, slots in rows]


def starts_of(
    rows: Rows, policy: str, at_s: float, spec: dict[str, Any], needed: dict[int, int]
) -> list[float]:
    """When the jobs of a further submission really start, in seconds from then on."""
    values = {"name": "new", "run": "true", "workdir": "/", **spec}
    wanted: Submit | SubmitArray = (
        SubmitArray(array_spec(values), "bob")
        if "array" in values
        else Submit(job_spec(values), "bob")
    )
    at_us = NOON_US + round(at_s * SECOND_US)
    with tempfile.TemporaryDirectory() as home:
        with JournalStore(f"{home}/journal.db") as store:
            chosen = ChoosePolicy(policy, POLICIES[policy])
            play(
                store,
                CLUSTER,
                timed(rows),
                chosen,
                [(at_us, wanted)],
                declares=True,
                needed_us=needed,
            )
        journal = FollowedJournal(f"{home}/journal.db")
        journal.read()
        found = [
            seconds(job.attempts[0].requested_us - at_us)
            for number, job in journal.cluster.state.jobs.items()
            if number > len(rows)
        ]
        journal.close()
        return found


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
    rows: Rows,
    policy: str,
    now_s: float,
    declares: bool = True,
    budget: DryRunBudget | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """The answer at a time at which the cluster runs these jobs. What users declare is exact, so
    that there is one future."""
    now_us = NOON_US + round(now_s * SECOND_US)
    values = {"name": "new", "run": "true", "workdir": "/", **spec}
    with tempfile.TemporaryDirectory() as home:
        with JournalStore(f"{home}/journal.db") as store:
            chosen = ChoosePolicy(policy, POLICIES[policy])
            play(store, CLUSTER, timed(rows), chosen, until_us=now_us, declares=declares)
        foresight = Foresight.DECLARED if declares else Foresight.LATER
        journal = FollowedJournal(f"{home}/journal.db")
        return dry_run(journal, DryRunQuestion(values, "bob", now_us), budget, foresight)


@pytest.mark.parametrize("policy", others_in_soak(POLICIES, ["tiresias-las"]))
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
    without = ends_of(drawn, policy)
    assume(all(end_us != NOON_US + now_s * SECOND_US for _, end_us in without.values()))
    answer = asked(drawn, policy, now_s, processes=slots, duration_s=run_s)
    start_s = answer["expected_start"]
    with_it = ends_of([*drawn, (now_s, run_s, slots)], policy)
    new = len(drawn) + 1
    really_s = seconds(with_it[new][0] - NOON_US) - now_s
    assert start_s["low_s"] == start_s["median_s"] == start_s["high_s"] == really_s
    delays = {job: seconds(with_it[job][1] - without[job][1]) for job in without}
    later = {str(job): delay for job, delay in delays.items() if delay >= 1}
    assert {each["id"]: each["delay_s"] for each in answer["delayed"]} == later


@pytest.mark.parametrize("policy", others_in_soak(["fifo", "tiresias-las", "srtf"], ["srtf"]))
@settings(max_examples=examples(30))
@given(
    drawn=st.lists(jobs, min_size=1, max_size=4).map(sorted),
    run_s=st.integers(1, 30),
    slots=st.integers(1, 6),
    size=st.none() | st.integers(1, 5),
    most_open=st.none() | st.integers(1, 2),
    waits_for=st.lists(st.integers(0, 3), max_size=2, unique=True),
    priority=st.integers(0, 1),
)
def test_held_jobs_start_when_they_really_do(
    policy: str,
    drawn: Any,
    run_s: int,
    slots: int,
    size: int | None,
    most_open: int | None,
    waits_for: list[int],
    priority: int,
) -> None:
    """The jobs of an array, or one job (`size` None), also after others. No job ends right now."""
    now_s, number = drawn[-1][0] + 0.5, len(drawn)
    after = {"after": [1 + place for place in waits_for if place < number]}
    spec: dict[str, Any] = {"processes": slots, "duration_s": run_s, "priority": priority}
    spec |= after if after["after"] else {}
    if size is not None:
        spec["array"] = f"0-{size - 1}" + ("" if most_open is None else f"%{most_open}")
    new = [number + 1] if size is None else [number + 2 + place for place in range(size)]
    needed = {place: row[1] for place, row in enumerate(timed(drawn), 1)}
    needed |= dict.fromkeys(new, run_s * SECOND_US)
    really = starts_of(drawn, policy, now_s, spec, needed)

    answer = asked(drawn, policy, now_s, **spec)

    assert [each["low_s"] for each in answer["starts"]] == ([] if size is None else really)
    first, last = (answer[name]["median_s"] for name in ("expected_start", "last_start"))
    assert (first, last) == (min(really), max(really))


def test_an_array_of_unknown_run_times_has_a_first_start_only() -> None:
    answer = asked([(0, 100, 2)], "fifo", 10, array="0-3%2")
    assert answer["expected_start"]["high_s"] == 0
    assert "how long its jobs will run; give duration_s" in answer["last_start"]["unknown_because"]
    assert [each["high_s"] for each in answer["starts"]] == [0, 0, None, None]


def test_a_start_after_a_job_of_unknown_run_time_is_unknown() -> None:
    answer = asked([(0, 100, 2)], "fifo", 10, declares=False, after=[1], duration_s=5)
    assert answer["expected_start"]["high_s"] is None
    assert "how long job 1 will run" in answer["expected_start"]["unknown_because"]


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
        "later_than_s": None,
    }
    assert (answer["simulations"], answer["coverage"]) == (19, 0.9)


def test_delays_by_a_job_of_unknown_run_time_are_unknown_unless_the_policy_keeps_the_order() -> (
    None
):
    answer = asked([(0, 100, 6)], "tiresias-las", 10, declares=False)
    assert answer["delayed"] is None
    assert "give duration_s" in answer["delayed_unknown_because"]
    assert asked([(0, 100, 6)], "fifo", 10, declares=False)["delayed"] == []


def test_of_jobs_of_which_nothing_is_known_the_first_three_are_named() -> None:
    answer = asked([(0, 100, 3), (0, 100, 1), (0, 100, 1), (0, 100, 1)], "fifo", 10, declares=False)
    because = answer["expected_start"]["unknown_because"]
    assert because == "nothing is known of how long job 1, job 2, job 3 and 1 other will run"


def test_a_start_after_a_job_of_which_only_the_limit_is_known_has_a_latest_time() -> None:
    now_us, limited = NOON_US + 10 * SECOND_US, {**JOB, "processes": 5, "max_duration": 100}
    with tempfile.TemporaryDirectory() as home:
        with JournalStore(f"{home}/journal.db") as store:
            limit = [(NOON_US, Submit(job_spec(limited), "ann"))]
            needed = dict.fromkeys((1, 2), 500 * SECOND_US)
            play(
                store,
                CLUSTER,
                timed([(0, 500, 1)]),
                ChoosePolicy("fifo"),
                limit,
                until_us=now_us,
                needed_us=needed,
            )
        journal = FollowedJournal(f"{home}/journal.db")
        question = DryRunQuestion({**JOB, "processes": 5}, "bob", now_us)
        start = dry_run(journal, question, foresight=Foresight.PRESENT)["expected_start"]
    assert start["low_s"] < 1
    assert start["high_s"] == pytest.approx(90, abs=0.01)


BUSY: Rows = [(second, 5 + 7 * second % 20, 6) for second in range(14)]
"""Three of them wait at second 130."""


def budget_of(decisions: int, more: int = 0, told: list[str] | None = None) -> DryRunBudget:
    """Each decision takes a second; `more` of them for the delays."""
    clock = itertools.count()
    tell = (told if told is not None else []).append
    return DryRunBudget(decisions, decisions + more, tell, lambda: float(next(clock)))


def test_on_a_busy_machine_the_answer_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour may pass between two events; the time of the processor counts."""
    hours = itertools.count()
    for clock in ("monotonic", "perf_counter", "time"):
        monkeypatch.setattr(time, clock, lambda: 3600.0 * next(hours))
    answer = asked(BUSY, "fifo", 130, declares=False)
    assert answer["expected_start"]["unknown_because"] == ""
    assert (answer["delayed"], answer["coverage"]) == ([], 0.9)


@pytest.mark.soak
def test_when_the_time_is_over_the_simulations_until_then_count() -> None:
    whole = asked(BUSY, "best-effort", 130, declares=False)
    told = list[str]()
    cut = asked(BUSY, "best-effort", 130, declares=False, budget=budget_of(100, 200, told))
    count = cut["simulations"]
    assert 3 <= count < 19
    assert cut["coverage"] == (count - 1) / (count + 1)
    start, all_of_it = cut["expected_start"], whole["expected_start"]
    assert all_of_it["low_s"] <= start["low_s"] <= start["high_s"] <= all_of_it["high_s"]
    assert start["later_than_s"] is None
    assert "simulating the start beside 3 waiting jobs, 4 s of at most 300 s" in " ".join(told)
    assert "simulating the ends of 4 other jobs" in told[-1]


@pytest.mark.soak
def test_starts_go_on_until_there_is_a_range_or_where_no_delays_are_simulated() -> None:
    short = asked(BUSY, "best-effort", 130, declares=False, budget=budget_of(10, 60))
    assert (short["simulations"], short["expected_start"]["unknown_because"]) == (3, "")
    whole = asked(BUSY, "fifo", 130, declares=False, budget=budget_of(10, 5000))
    assert (whole["coverage"], whole["delayed"]) == (0.9, [])
    unknown = asked([(0, 100, 6)], "best-effort", 10, declares=False, budget=budget_of(4, 5000))
    assert "give duration_s" in unknown["delayed_unknown_because"]
    assert unknown["simulations"] == 19


@pytest.mark.soak
def test_delays_of_fewer_simulations_than_wanted_say_so() -> None:
    cut = asked(BUSY, "best-effort", 130, declares=False, budget=budget_of(10, 90))
    assert cut["delayed"] is not None
    assert 3 <= cut["delay_simulations"] < 19
    whole = asked(BUSY, "best-effort", 130, declares=False)
    assert whole["delay_simulations"] is None


@pytest.mark.parametrize(
    ("decisions", "starts_at"), others_in_soak([(2, "cut"), (10, "complete")], [(2, "cut")])
)
def test_too_few_simulations_tell_how_long_it_waits_at_least(
    decisions: int, starts_at: str
) -> None:
    low_s = asked(BUSY, "best-effort", 130, declares=False)["expected_start"]["low_s"]
    short = budget_of(decisions)
    answer = asked(BUSY, "best-effort", 130, declares=False, budget=short)
    start = answer["expected_start"]
    assert (start["low_s"], start["high_s"], answer["coverage"]) == (None, None, None)
    assert "too much to simulate; in what was, it waits for" in start["unknown_because"]
    assert start["later_than_s"] >= low_s if starts_at == "complete" else start["later_than_s"] > 0
    assert answer["delayed"] is None
    assert "0 of 3 simulations" in answer["delayed_unknown_because"]


def test_a_start_that_no_unknown_run_time_delays_is_known() -> None:
    answer = asked([(0, 100, 4)], "fifo", 10, declares=False, processes=2)
    assert answer["expected_start"]["high_s"] == 0


def test_what_a_submission_refuses_is_refused(tmp_path: Path) -> None:
    for spec, message in (
        ({"processes": 7}, "the cluster has 6 slots"),
        ({"queue": "ml"}, "unknown queue 'ml'"),
        ({"proceses": 1}, "proceses"),
        ({"after": [9]}, "there is no job 9"),
        ({"array": "0-3", "processes": 7}, "the cluster has 6 slots"),
        ({"array": "3-0"}, "array"),
    ):
        with pytest.raises(BadInput, match=message):
            asked([(0, 1, 1)], "fifo", 10, **spec)


def test_a_trial_runs_before_its_job() -> None:
    trial = {"limit_s": 20}
    alone = asked(IDLE, "fifo", 5, processes=3, duration_s=100, trial=trial)
    assert (alone["jobs"], alone["processes"], alone["trial_s"]) == (1, 3, 20)
    assert alone["expected_start"]["median_s"] == 20
    short = asked(IDLE, "fifo", 5, processes=3, duration_s=7, trial=trial)
    assert short["expected_start"]["median_s"] == 7
    one = asked(IDLE, "fifo", 5, processes=1, duration_s=100, trial=trial)
    assert (one["trial_s"], one["expected_start"]["median_s"]) == (None, 0)
    # Until second 30 no slot is free, for the trial neither.
    behind = asked([(0, 30, 6)], "fifo", 5, processes=3, duration_s=100, trial=trial)
    assert behind["expected_start"]["median_s"] == 45
    later = asked([(0, 30, 2)], "fifo", 5, processes=3, duration_s=9, trial=trial, after=[1])
    assert later["expected_start"]["median_s"] == 34


def test_the_jobs_of_an_array_wait_for_one_trial() -> None:
    spec = {"processes": 2, "duration_s": 10, "trial": {"limit_s": 4}, "array": "0-3"}
    answer = asked(IDLE, "fifo", 5, **spec)
    assert [each["median_s"] for each in answer["starts"]] == [4, 4, 4, 14]
    assert answer["trial_s"] == 4


def test_the_duration_of_an_undeclared_trial_is_its_limit() -> None:
    answer = asked([(0, 3, 1)], "fifo", 5, declares=False, processes=2, trial=True)
    assert answer["expected_start"]["low_s"] >= 60
