"""The journal of a live master in the simulator: exact where processes take no time to start."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
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
from motet.live.launcher.messages import ClusterSeen, MachineSeen
from motet.live.master.cluster_changes import DrainMachine, ResumeMachine
from motet.live.master.facts import ClusterDeclared, ModelSeen
from motet.live.master.intake import Change, ChoosePolicy, Input
from motet.live.master.job_updates import UpdateJob
from motet.live.master.submissions.submission import Submit, SubmitArray
from motet.live.queues.queue_changes import CreateQueue, LimitQueue, SetQueueMode
from timed_master import TimedRows, at_once, play

CLUSTER = ClusterDeclared(("m0", "m1"), (4, 2))
NOON_US = 1_700_000_000 * SECOND_US
POLICIES: dict[str, dict[str, str]] = {
    "fifo": {},
    "best-effort": {},
    "tiresias-las": {"thresholds": "4,20"},
    "gandiva": {"packing": "false", "quantum_s": "4"},
    "drf": {},
    "yarn-cs": {},
}
jobs = st.tuples(st.integers(0, 20), st.integers(1, 30), st.integers(1, 6))


def at(second: float) -> int:
    return NOON_US + round(second * SECOND_US)


def seconds_of(rows: Sequence[tuple[float, float, int]]) -> TimedRows:
    return [(at(submit), round(run * SECOND_US), slots) for submit, run, slots in rows]


def asked(
    rows: Sequence[tuple[float, float, int]],
    in_force: str,
    wanted: str,
    others: Sequence[tuple[int, Input]] = (),
    **more: Any,
) -> dict[str, Any]:
    """The report about a cluster that was left to itself until all jobs had ended."""
    until_s, needed_us = more.pop("until_s", 1e6), more.pop("needed_us", None)
    start_up_us, cluster = more.pop("start_up_us", at_once), more.pop("cluster", CLUSTER)
    declares, stop_us = more.pop("declares", False), more.pop("stop_us", at_once)
    finish_us, unheard_us = more.pop("finish_us", 0), more.pop("unheard_us", None)
    failing_us, loss_us = more.pop("failing_us", None), more.pop("loss_us", 0)
    with tempfile.TemporaryDirectory() as home:
        address = f"{home}/journal.db"
        policy = ChoosePolicy(in_force, POLICIES.get(in_force, {}))
        with JournalStore(address) as store:
            timed = seconds_of(rows)
            took = {"needed_us": needed_us, "start_up_us": start_up_us, "declares": declares}
            took |= {"stop_us": stop_us, "finish_us": finish_us, "unheard_us": unheard_us}
            took |= {"failing_us": failing_us, "loss_us": loss_us}
            play(store, cluster, timed, policy, others, at(until_s), **took)
        question = WhatIfQuestion(wanted, POLICIES.get(wanted, {}), **more)
        return what_if(FollowedJournal(address), question)


def completions(report: dict[str, Any], column: str) -> list[float | None]:
    return [each[column] for each in report["job_list"]]


@pytest.mark.parametrize("policy", POLICIES)
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


@pytest.mark.parametrize("policy", POLICIES)
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


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=examples(10))
@given(drawn=st.lists(jobs, min_size=1, max_size=8).map(sorted), took_s=st.integers(1, 9))
def test_starts_take_as_long_as_they_did(policy: str, drawn: Any, took_s: int) -> None:
    """A job that is starting attains no service yet: it is preempted as late as it was."""

    def start_up_us(processes: int) -> int:
        return took_s * processes * SECOND_US

    report = asked(drawn, policy, "fifo", start_up_us=start_up_us)
    assert completions(report, "in_force_jct_s") == completions(report, "measured_jct_s")
    before, replayed, _ = report["runs"]
    for figure in ("jct_s", "wait_s", "makespan_s", "preemptions"):
        assert replayed[figure] == before[figure]


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=examples(10))
@given(drawn=st.lists(jobs, min_size=1, max_size=8).map(sorted), took_s=st.integers(1, 4))
def test_preemptions_take_as_long_as_they_did(policy: str, drawn: Any, took_s: int) -> None:
    """The jobs that get the slots start later by this time, and the preempted one does no work."""

    def stop_us(processes: int) -> int:
        return took_s * processes * SECOND_US

    report = asked(drawn, policy, "fifo", stop_us=stop_us)
    assert completions(report, "in_force_jct_s") == completions(report, "measured_jct_s")
    before, replayed, _ = report["runs"]
    for figure in ("jct_s", "makespan_s"):  # A job may lose slots again before it has begun.
        assert replayed[figure] == before[figure]


@pytest.mark.parametrize("policy", [each for each in POLICIES if each != "gandiva"])
@settings(max_examples=examples(10))
@given(
    drawn=st.lists(jobs, min_size=2, max_size=8).map(sorted),
    took_s=st.integers(0, 4),
    stop_s=st.integers(0, 3),
    since_s=st.integers(1, 60),
)
def test_a_replay_goes_on_with_the_starts_and_stops_of_its_beginning(
    policy: str, drawn: Any, took_s: int, stop_s: int, since_s: int
) -> None:
    """Jobs that are being started attain no service yet, and slots of those that are being stopped
    are not free. (Moves of gandiva count as done.)"""
    more = {
        "start_up_us": lambda processes: took_s * processes * SECOND_US,
        "stop_us": lambda processes: stop_s * processes * SECOND_US,
    }
    try:
        report = asked(drawn, policy, "fifo", since_us=at(since_s), **more)
    except NotFound:
        return
    assert completions(report, "in_force_jct_s") == completions(report, "measured_jct_s")


def test_a_job_that_finished_while_it_was_being_stopped_does_so_in_the_replay() -> None:
    rows = [(0, 1.3, 4), (0.2, 6, 4), (0.4, 2, 2), (0.6, 5, 6)]
    more = {"stop_us": lambda processes: SECOND_US // 2, "finish_us": SECOND_US}
    report = asked(rows, "tiresias-las", "fifo", **more)
    measured = completions(report, "measured_jct_s")
    assert measured[0] == 1.3
    assert completions(report, "in_force_jct_s") == measured
    assert report["job_list"][0]["in_force_preemptions"] == 0
    before, replayed, _ = report["runs"]
    assert replayed["preemptions"] == before["preemptions"] > 0


SOME_FAIL = [(0, 40, 4), (3, 9, 2), (5, 20, 6), (7, 12, 2), (30, 6, 1)]
LEFT_S = {1: [39, 36, 36, 30, 12, 1], 4: [11, 5]}


@pytest.mark.parametrize("since_s", [None, 4, 11])
@pytest.mark.parametrize("policy", POLICIES)
def test_attempts_that_failed_do_so_in_the_replay(policy: str, since_s: int | None) -> None:
    """After as much work, with the same delays, in which the job keeps its place in line."""
    failing_us = {job: [each * SECOND_US for each in left_s] for job, left_s in LEFT_S.items()}
    more: dict[str, Any] = {"failing_us": failing_us, "start_up_us": lambda n: n * SECOND_US // 4}
    if since_s is not None:
        more["since_us"] = at(since_s)
    report = asked(SOME_FAIL, policy, "fifo", **more)
    measured = completions(report, "measured_jct_s")
    assert None not in measured
    assert completions(report, "in_force_jct_s") == measured
    before, replayed, _ = report["runs"]
    for figure in ("jct_s", "wait_s", "makespan_s", "preemptions"):
        assert replayed[figure] == before[figure]


def test_jobs_fail_after_as_much_work_under_another_policy() -> None:
    failing_us = {job: [each * SECOND_US for each in left_s] for job, left_s in LEFT_S.items()}
    report = asked(SOME_FAIL, "fifo", "best-effort", failing_us=failing_us)
    really = asked(SOME_FAIL, "best-effort", "fifo", failing_us=failing_us)
    would = completions(report, "jct_s")
    assert would == completions(really, "measured_jct_s")
    assert would != completions(report, "measured_jct_s")


JOINED = replace(CLUSTER, joins=True)


def seen(*names: str) -> ClusterSeen:
    slots = dict(zip(CLUSTER.names, CLUSTER.slots, strict=True))
    return ClusterSeen(tuple(MachineSeen(name, slots[name], takes_jobs=True) for name in names))


LOSSES = [
    *[(at(0), seen("m0", "m1")), (at(10), seen("m0")), (at(25), seen("m0", "m1"))],
    *[(at(60), seen("m1")), (at(64), seen("m0", "m1"))],
]
SOME_LOSE = [(0, 40, 6), (3, 9, 2), (5, 30, 2), (7, 22, 3), (30, 6, 1), (50, 12, 4)]


@pytest.mark.parametrize("since_s", [None, 4, 40])
@pytest.mark.parametrize("policy", POLICIES)
def test_jobs_that_lost_a_machine_do_so_in_the_replay(policy: str, since_s: int | None) -> None:
    """They get slots again when their processes have certainly ended, and do no work before."""
    more: dict[str, Any] = {"loss_us": 12 * SECOND_US, "start_up_us": lambda n: n * SECOND_US // 4}
    if since_s is not None:
        more["since_us"] = at(since_s)
    report = asked(SOME_LOSE, policy, "fifo", others=LOSSES, cluster=JOINED, **more)
    measured = completions(report, "measured_jct_s")
    assert None not in measured
    assert completions(report, "in_force_jct_s") == measured
    before, replayed, _ = report["runs"]
    for figure in ("jct_s", "makespan_s"):  # A job may lose slots again before it has begun.
        assert replayed[figure] == before[figure]


def test_another_policy_waits_as_long_for_jobs_that_lost_a_machine() -> None:
    more: dict[str, Any] = {"others": LOSSES, "cluster": JOINED, "loss_us": 12 * SECOND_US}
    report = asked(SOME_LOSE, "fifo", "best-effort", **more)
    really = asked(SOME_LOSE, "best-effort", "fifo", **more)
    assert completions(report, "jct_s") == completions(really, "measured_jct_s")
    assert completions(report, "jct_s") != completions(report, "measured_jct_s")


def test_a_job_that_ended_in_an_outage_does_so_in_the_replay() -> None:
    """Its slots were not free before the server knew of its end."""
    rows = [(0, 30, 6), (1, 5, 2), (2, 5, 4), (250, 3, 1)]
    report = asked(rows, "fifo", "tiresias-las", unheard_us={1: 170 * SECOND_US})
    measured = completions(report, "measured_jct_s")
    assert measured[:2] == [30.0, 204.0]
    assert completions(report, "in_force_jct_s") == measured
    before, replayed, _ = report["runs"]
    for figure in ("jct_s", "wait_s", "makespan_s"):
        assert replayed[figure] == before[figure]
    assert before["wait_s"]["max"] == 199.0


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


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("since_s", [None, 6])
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
