"""Starts, preemptions, failures and losses of machines in replays: as on the live cluster."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.errors import NotFound
from motet.domain.units import SECOND_US
from motet.live.launcher.messages import ClusterSeen, MachineSeen
from replayed_journal import CLUSTER, FAST_POLICIES, POLICIES, asked, at, completions, jobs
from soak_cases import others_in_soak


@pytest.mark.parametrize("policy", others_in_soak(POLICIES, FAST_POLICIES))
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


@pytest.mark.parametrize("policy", others_in_soak(POLICIES, FAST_POLICIES))
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


@pytest.mark.parametrize(
    "policy", others_in_soak([each for each in POLICIES if each != "gandiva"], ["tiresias-las"])
)
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


def cases(moments: tuple[int | None, ...]) -> list[Any]:
    """In `make test` a policy that preempts by time, and one that moves jobs."""
    fast = [("gandiva", None), ("tiresias-las", moments[1])]
    return others_in_soak(itertools.product(POLICIES, moments), fast)


SOME_FAIL = [(0, 40, 4), (3, 9, 2), (5, 20, 6), (7, 12, 2), (30, 6, 1)]
LEFT_S = {1: [39, 36, 36, 30, 12, 1], 4: [11, 5]}


@pytest.mark.parametrize(("policy", "since_s"), cases((None, 4, 11)))
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


@pytest.mark.parametrize(("policy", "since_s"), cases((None, 4, 40)))
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
