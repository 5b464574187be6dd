"""The journal of a live master in the simulator: exact where processes take no time to start."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edited_policy import own_policy
from example_count import examples
from motet.domain.errors import BadInput, NotFound, UnknownName
from motet.domain.units import SECOND_US
from motet.insight.replay_words import replay_notes
from motet.interfaces.forecasts.followed_journal import FollowedJournal
from motet.interfaces.forecasts.replay.what_if import WhatIfQuestion, what_if
from motet.interfaces.forecasts.replay.what_if_summary import what_if_summary
from motet.live.jobs.array_file import array_spec
from motet.live.jobs.job_file import job_spec
from motet.live.journal.store import JournalStore
from motet.live.master.cluster_changes import DrainMachine, ResumeMachine
from motet.live.master.facts import ClusterDeclared, ModelSeen
from motet.live.master.intake import Change, ChoosePolicy, Input
from motet.live.master.job_updates import UpdateJob
from motet.live.master.submissions.submission import Submit, SubmitArray
from motet.live.queues.queue_changes import CreateQueue, LimitQueue, SetQueueMode
from replayed_journal import (
    CLUSTER,
    FAST_POLICIES,
    POLICIES,
    asked,
    at,
    completions,
    jobs,
    seconds_of,
)
from soak_cases import others_in_soak
from timed_master import play


@pytest.mark.parametrize("policy", others_in_soak(POLICIES, FAST_POLICIES))
@settings(max_examples=examples(10))
@given(drawn=st.lists(jobs, min_size=1, max_size=8).map(sorted))
def test_the_replay_under_the_policy_in_force_is_what_happened(policy: str, drawn: Any) -> None:
    report = asked(drawn, policy, "fifo")
    measured = completions(report, "measured_jct_s")
    assert None not in measured
    assert completions(report, "in_force_jct_s") == measured
    assert report["replay_error"] == 0
    before, replayed, _ = report["runs"]
    for figure in ("jct_s", "wait_s", "makespan_s", "preemptions"):
        assert replayed[figure] == before[figure]


@pytest.mark.parametrize("policy", others_in_soak(POLICIES, FAST_POLICIES))
@settings(max_examples=examples(10))
@given(drawn=st.lists(jobs, min_size=2, max_size=8).map(sorted), since_s=st.integers(1, 60))
def test_a_replay_from_any_moment_on_is_what_happened(
    policy: str, drawn: Any, since_s: int
) -> None:
    """The simulation continues from the state of the live engine at that moment."""
    try:
        report = asked(drawn, policy, "fifo", since_us=at(since_s))
    except NotFound:
        return
    assert completions(report, "in_force_jct_s") == completions(report, "measured_jct_s")


def test_another_policy_would_have_done_what_it_does_on_the_live_cluster() -> None:
    rows = [(0, 60, 6), (1, 5, 2), (2, 5, 4), (30, 3, 1)]
    report = asked(rows, "fifo", "tiresias-las")
    would = completions(report, "jct_s")
    really = completions(asked(rows, "tiresias-las", "fifo"), "measured_jct_s")
    assert would == really != completions(report, "measured_jct_s")
    fifo, _, las = report["runs"]
    assert las["jct_s"]["mean"] < fifo["jct_s"]["mean"]
    assert las["preemptions"] > fifo["preemptions"] == 0


CHANGES: list[tuple[float, str]] = [
    *((-5, "best-effort"), (-4, "fifo"), (4, "tiresias-las"), (11, "best-effort")),
    *((14, "srtf"), (19, "drf"), (26, "fifo")),
]
BUSY = [(0, 9, 4), (1, 20, 2), (2, 9, 3), (3, 7, 1), (5, 12, 6), (13, 4, 2), (20, 6, 4)]


@pytest.mark.parametrize("since_s", [None, 6, 15])
def test_changes_of_the_policy_happen_again(since_s: int | None) -> None:
    others: list[tuple[int, Input]] = [
        (at(second), ChoosePolicy(name, POLICIES.get(name, {}))) for second, name in CHANGES
    ]
    more = {} if since_s is None else {"since_us": at(since_s)}
    report = asked(BUSY, "fifo", "tiresias-las", others, declares=True, **more)
    measured = completions(report, "measured_jct_s")
    assert None not in measured
    assert completions(report, "in_force_jct_s") == measured
    assert report["replay_error"] == 0
    last_before = max(each for each in CHANGES if each[0] <= (since_s or 0))
    in_turn = [last_before, *(each for each in CHANGES if each[0] > (since_s or 0))]
    assert [each["policy"] for each in report["policies"]] == [name for _, name in in_turn]
    assert report["policy_changes"] == len(in_turn) - 1


def test_the_other_policy_is_in_force_all_the_time() -> None:
    others: list[tuple[int, Input]] = [(at(4), ChoosePolicy("best-effort", {}))]
    report = asked(BUSY, "fifo", "tiresias-las", others)
    would = completions(report, "jct_s")
    assert would == completions(asked(BUSY, "tiresias-las", "fifo"), "measured_jct_s")


def test_what_users_and_machines_did_happens_again() -> None:
    rows = [(0, 20, 4), (1, 20, 2), (2, 9, 2), (3, 30, 1)]
    others: list[tuple[int, Input]] = [
        (at(4), Change(2, "suspend", "ann")),
        (at(5), DrainMachine("m1", "disk", "ann")),
        (at(8), UpdateJob(3, "ann", priority=4)),
        (at(31), ResumeMachine("m1", "ann")),
        (at(33), Change(2, "resume", "ann")),
        (at(36), Change(4, "cancel", "ann")),
    ]
    report = asked(rows, "fifo", "best-effort", others)
    measured = completions(report, "measured_jct_s")
    assert completions(report, "in_force_jct_s") == measured
    assert measured[:3] == [20, (33 - 1) + 17, (4 - 2) + 9]
    assert report["jobs_cancelled"] == 1
    assert report["job_list"][3]["state"] == "CANCELLED"
    assert completions(report, "jct_s")[3] is None


@pytest.mark.parametrize(
    ("policy", "since_s"),
    others_in_soak(
        itertools.product(POLICIES, [None, 6]),
        [("tiresias-las", 6), ("drf", None), ("yarn-cs", None)],
    ),
)
def test_limits_of_queues_hold_in_the_replay_as_they_did(policy: str, since_s: int | None) -> None:
    rows = [(0, 20, 2), (1, 20, 2), (2, 9, 2), (3, 30, 1), (14, 5, 1)]
    others: list[tuple[int, Input]] = [
        (at(4), LimitQueue("default", "ann", {"guarantee": 1, "borrow": 2})),
        (at(5), CreateQueue("ml", "ann", {"guarantee": 2, "lend": 0})),
        (at(8), UpdateJob(2, "ann", queue="ml")),
        (at(11), SetQueueMode("default", "ann", "held")),
        (at(24), SetQueueMode("default", "ann", "open")),
        (at(40), LimitQueue("default", "ann", {"borrow": None})),
    ]
    more = {} if since_s is None else {"since_us": at(since_s)}
    report = asked(rows, policy, "fifo", others, **more)
    measured = completions(report, "measured_jct_s")
    assert None not in measured
    assert completions(report, "in_force_jct_s") == measured


CLOCKED = ["tiresias-las", "tiresias-gittins", "gandiva"]
"""Policies that decide again and again by themselves."""


def ends(report: dict[str, Any]) -> list[bool]:
    return [each is not None for each in completions(report, "jct_s")]


@pytest.mark.parametrize("wanted", ["fifo", *CLOCKED])
def test_a_replay_ends_when_only_jobs_of_a_held_queue_are_left(wanted: str) -> None:
    job = {"name": "job", "run": "true", "workdir": "/", "processes": 2, "queue": "ml"}
    others: list[tuple[int, Input]] = [
        (at(-3), CreateQueue("ml", "ann", {})),
        (at(-2), SetQueueMode("ml", "ann", "held")),
        (at(1), Submit(job_spec(job), "ann")),
    ]
    needed_us = {1: 9 * SECOND_US, 2: SECOND_US, 3: 5 * SECOND_US}
    report = asked([(0, 0, 4), (2, 0, 4)], "fifo", wanted, others, needed_us=needed_us)
    assert ends(report) == [True, False, True]
    (held,) = report["never_start"]
    assert (held["reason"], held["jobs"], held["first"]) == ("QueueOnHold", 1, ["2"])
    assert [*replay_notes(report)][-1] == (
        "jobs that never start in the replay, and count as unfinished: job 2 (its queue is on hold)"
    )


@pytest.mark.parametrize("wanted", ["fifo", *CLOCKED])
def test_a_replay_ends_when_only_jobs_for_drained_machines_are_left(wanted: str) -> None:
    others: list[tuple[int, Input]] = [(at(1), DrainMachine("m1", "disk", "ann"))]
    report = asked([(0, 9, 4), (2, 5, 6), (3, 5, 4)], "best-effort", wanted, others)
    assert ends(report) == [True, False, wanted != "fifo"]
    (drained,) = report["never_start"]
    assert (drained["reason"], drained["first"]) == ("MachinesDrained", ["2"])


@pytest.mark.parametrize("wanted", ["fifo", *CLOCKED])
def test_a_replay_ends_when_only_jobs_above_the_limit_of_their_queue_are_left(wanted: str) -> None:
    others: list[tuple[int, Input]] = [(at(1), LimitQueue("default", "ann", {"borrow": 3}))]
    report = asked([(0, 9, 2), (0.5, 5, 4), (3, 5, 2)], "fifo", wanted, others)
    assert ends(report) == [True, False, wanted != "fifo"]
    (limited,) = report["never_start"]
    assert (limited["reason"], limited["first"]) == ("QueueLimitReached", ["2"])


@pytest.mark.parametrize("wanted", CLOCKED)
def test_jobs_of_a_queue_that_is_opened_later_start_in_the_replay(wanted: str) -> None:
    others: list[tuple[int, Input]] = [
        (at(-1), SetQueueMode("default", "ann", "held")),
        (at(60), SetQueueMode("default", "ann", "open")),
    ]
    report = asked([(0, 5, 4)], "fifo", wanted, others)
    assert completions(report, "jct_s") == [65]
    assert report["never_start"] == []


def test_jobs_are_placed_by_the_skew_of_their_models_as_they_were() -> None:
    """Suspended and resumed, the first one is on m2, the only machine with CPUs for the second."""
    cluster = ClusterDeclared(("m0", "m1", "m2"), (2, 2, 4), cpus=(2, 2, 8))
    job = {"name": "job", "run": "true", "workdir": "/", "processes": 2, "cpus": 4}
    others: list[tuple[int, Input]] = [
        (at(1), ModelSeen(1, 100, 80)),
        (at(2), Change(1, "suspend", "ann")),
        (at(3), Change(1, "resume", "ann")),
        (at(4), Submit(job_spec(job), "ann")),
    ]
    needed_us = {number: run_s * SECOND_US for number, run_s in {1: 30, 2: 5}.items()}
    report = asked(
        [(0, 30, 4)], "fifo", "best-effort", others, cluster=cluster, needed_us=needed_us
    )
    measured = completions(report, "measured_jct_s")
    assert measured == [31, 31 - 4 + 5]
    assert completions(report, "in_force_jct_s") == measured


def test_held_jobs_and_those_of_arrays_arrive_when_they_were_released() -> None:
    job = {"name": "job", "run": "true", "workdir": "/", "processes": 2}
    others: list[tuple[int, Input]] = [
        (at(1), Submit(job_spec({**job, "after": [1]}), "ann")),
        (at(2), SubmitArray(array_spec({**job, "array": "0-3%1"}), "ann")),
    ]
    run_s = {1: 10, 2: 5, 4: 3, 5: 4, 6: 3, 7: 4, 8: 6}
    needed_us = {number: each * SECOND_US for number, each in run_s.items()}
    report = asked([(0, 0, 4), (3, 0, 2)], "fifo", "best-effort", others, needed_us=needed_us)
    assert {each["id"] for each in report["job_list"]} == {str(number) for number in run_s}
    names = [each["name"] for each in report["job_list"]]
    assert sorted(names) == [*["job"] * 3, *(f"job[{index}]" for index in range(4))]
    measured = completions(report, "measured_jct_s")
    assert None not in measured
    assert completions(report, "in_force_jct_s") == measured


def test_elastic_commands_are_replayed_with_all_processes_and_the_report_says_so() -> None:
    """It runs with two processes beside the first job, and would have all four at first."""
    elastic = {"name": "line", "run": "true", "workdir": "/", "processes": 4, "min_processes": 1}
    others: list[tuple[int, Input]] = [(at(1), Submit(job_spec(elastic), "ann"))]
    cluster = ClusterDeclared(("m0",), (4,))
    needed_us = {1: 10 * SECOND_US, 2: 5 * SECOND_US}
    report = asked([(0, 0, 2)], "fair", "fifo", others, cluster=cluster, needed_us=needed_us)
    assert report["elastic_commands"] == 1
    assert completions(report, "measured_jct_s") == [10, 5]
    assert completions(report, "jct_s") == [10, 9 + 5]
    assert any(
        "1 elastic command: replayed with all processes" in it for it in replay_notes(report)
    )


def test_jobs_that_have_not_ended_are_replayed_with_predicted_remainders_and_counted() -> None:
    rows = [(second, 10, 6) for second in range(8)] + [(8, 10, 6), (9, 10, 6)]
    report = asked(rows, "fifo", "fifo", until_s=85)
    assert (report["jobs"], report["jobs_compared"]) == (10, 8)
    assert (report["jobs_predicted"], report["jobs_assumed"]) == (2, 0)
    assert [each["is_predicted"] for each in report["job_list"]] == [False] * 8 + [True] * 2
    assert completions(report, "in_force_jct_s")[8:] == [82, 91]
    assert report["replay_error"] == 0


def test_remainders_that_nothing_is_known_of_are_counted_as_assumed() -> None:
    report = asked([(0, 10, 6), (1, 500, 6)], "fifo", "fifo", until_s=60)
    assert (report["jobs_predicted"], report["jobs_assumed"]) == (1, 1)


def test_a_policy_or_a_period_that_cannot_be_replayed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="unknown policy 'fiffo'"):
        asked([(0, 1, 1)], "fifo", "fiffo")
    with pytest.raises(NotFound, match="no jobs were active"):
        asked([(0, 1, 1)], "fifo", "fifo", since_us=at(100))
    with JournalStore(str(tmp_path / "empty.db")), pytest.raises(BadInput, match="is empty"):
        FollowedJournal(str(tmp_path / "empty.db"))


def test_a_deleted_policy_is_a_warning_of_the_report(tmp_path: Path) -> None:
    """Its journal is read; only what it would do now is not known."""
    path, mine = tmp_path / "journal.db", tmp_path / "mine.py"
    rows = seconds_of([(0, 10, 4), (1, 10, 4)])
    with JournalStore(str(path)) as store:
        play(store, CLUSTER, rows, own_policy(mine))
    mine.unlink()
    journal = FollowedJournal(str(path))
    report = what_if(journal, WhatIfQuestion("fifo"))
    journal.close()
    (warning,) = report["warnings"]
    assert warning.startswith(f"the policy in force cannot be simulated: {mine}: no such file")
    assert [run["finished"] for run in report["runs"]] == [2, 0, 2]
    assert report["replay_error"] is None
    assert {job["in_force_jct_s"] for job in report["job_list"]} == {None}
    assert warning in [*replay_notes(report)]
    assert what_if_summary(report)["jobs_later"] == 0


def test_a_journal_that_was_decided_otherwise_is_a_warning_of_the_report(tmp_path: Path) -> None:
    rows, path = seconds_of([(0, 10, 4), (1, 10, 4)]), tmp_path / "mine.py"
    with JournalStore(str(tmp_path / "later.db")) as store:
        play(store, CLUSTER, rows, own_policy(path))
        records = [*store.records()]
    with JournalStore(str(tmp_path / "journal.db")) as store:  # As formats 1 and 2 have them.
        store.append([replace(record, decision=None) for record in records])
    own_policy(path, order=-1)
    journal = FollowedJournal(str(tmp_path / "journal.db"))
    report = what_if(journal, WhatIfQuestion("fifo"))
    journal.close()
    assert [text.split(":")[0] for text in report["warnings"]] == ["record 5 of the journal"]
    assert report["runs"][0]["finished"] == 2
