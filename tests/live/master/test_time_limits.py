"""Limits of running time in the master: counted over attempts, enforced with signal and grace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.live.jobs.job_state import JobState
from motet.live.launcher.messages import AttemptEnded, AttemptRunning, RankExit, StopAttempt
from motet.live.master.intake import Change
from motet.live.master.job_updates import UpdateJob
from scripted_cluster import SECOND_US, ScriptedCluster
from scripted_launcher import JUST_NOW_S

STOPPED = RankExit(None, 15, "stopped", 0.0, JUST_NOW_S)
SAVED = RankExit(0, None, "stopped", 0.0, JUST_NOW_S)
FOR_ITS_END = "of which the last 20s are for its end"
GRACE = {"preempt": {"signal": "SIGUSR1", "grace_s": 20}}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path)
    yield found
    found.close()


def running(cluster: ScriptedCluster, job: int) -> int:
    """The present attempt of a job runs; returns since when."""
    cluster.until_started(job)
    attempt = cluster.job(job).attempts[-1]
    cluster.handle(AttemptRunning(f"{job}.{attempt.number}", 0.0))
    assert attempt.running_us is not None
    return attempt.running_us


def ends(cluster: ScriptedCluster, job: int, end: RankExit) -> None:
    number = len(cluster.job(job).attempts)
    cluster.handle(AttemptEnded(f"{job}.{number}", (end,)))


def pass_until(cluster: ScriptedCluster, at_us: int) -> None:
    """A step at this time."""
    cluster.now_us = at_us - SECOND_US
    cluster.handle()


def stops_of(cluster: ScriptedCluster, job: int) -> list[tuple[int, float]]:
    """Signal and grace of the stops that the launcher is asked for."""
    number = len(cluster.job(job).attempts)
    return [
        (each.stop_signal, each.grace_s)
        for each in cluster.master.pending_requests
        if isinstance(each, StopAttempt) and each.attempt == f"{job}.{number}"
    ]


def test_a_job_gets_its_signal_before_its_limit_and_fails_when_it_has_ended(
    cluster: ScriptedCluster,
) -> None:
    job = cluster.submit(max_duration=100, retry={"max_attempts": 3}, **GRACE)
    waits = cluster.submit(after=[job])
    since_us = running(cluster, job)
    assert cluster.master.recheck_at_us == since_us + 80 * SECOND_US
    pass_until(cluster, since_us + 79 * SECOND_US)
    assert stops_of(cluster, job) == []
    pass_until(cluster, since_us + 80 * SECOND_US)
    assert stops_of(cluster, job) == [(10, 20)]
    assert cluster.job(job).state is JobState.RUNNING
    cluster.now_us = since_us + 82 * SECOND_US
    ends(cluster, job, STOPPED)
    found = cluster.job(job)
    assert (found.state, found.reason) == (
        JobState.FAILED,
        f"it ran 1 min 23 s of its max_duration, 100s, {FOR_ITS_END}",
    )
    (attempt,) = found.attempts
    assert (attempt.outcome, attempt.stop_cause) == ("stopped", "time_limit")
    assert attempt.failure == "time_limit"
    assert cluster.job(waits).state is JobState.CANCELLED
    assert cluster.master.recheck_at_us > cluster.now_us + 3600 * SECOND_US


def test_exit_status_0_after_the_signal_is_no_success(cluster: ScriptedCluster) -> None:
    job = cluster.submit(max_duration=100)
    pass_until(cluster, running(cluster, job) + 70 * SECOND_US)
    ends(cluster, job, SAVED)
    assert cluster.job(job).state is JobState.FAILED


def test_a_job_that_ends_by_itself_at_its_limit_has_succeeded(cluster: ScriptedCluster) -> None:
    job = cluster.submit(max_duration=100)
    cluster.now_us = running(cluster, job) + 90 * SECOND_US
    ends(cluster, job, RankExit(0, None, "exited", 0.0, 1.0))
    assert cluster.job(job).state is JobState.SUCCEEDED
    other = cluster.submit()  # The slots are free, and the engine goes on.
    cluster.until_started(other)


def test_grace_is_at_most_half_of_the_limit(cluster: ScriptedCluster) -> None:
    job = cluster.submit(max_duration=10)
    since_us = running(cluster, job)
    assert cluster.master.recheck_at_us == since_us + 5 * SECOND_US
    pass_until(cluster, since_us + 5 * SECOND_US)
    assert stops_of(cluster, job) == [(15, 5)]


def test_time_in_line_and_suspended_does_not_count_and_that_of_earlier_attempts_does(
    cluster: ScriptedCluster,
) -> None:
    large = cluster.submit(processes=4)
    running(cluster, large)
    job = cluster.submit(max_duration=100, **GRACE)
    cluster.now_us += 1000 * SECOND_US
    cluster.handle(AttemptEnded(f"{large}.1", (RankExit(0, None, "exited", 0.0, 1.0),) * 4))
    since_us = running(cluster, job)
    cluster.now_us = since_us + 29 * SECOND_US
    cluster.ask(Change(job, "suspend", "ann"))
    cluster.now_us = since_us + 49 * SECOND_US
    ends(cluster, job, SAVED)  # It ran until its processes had ended, 50 seconds.
    cluster.now_us += 1000 * SECOND_US
    cluster.ask(Change(job, "resume", "ann"))
    since_us = running(cluster, job)
    assert cluster.master.recheck_at_us == since_us + 30 * SECOND_US
    cluster.begin()  # The master was killed, and reads its journal.
    cluster.handle(AttemptRunning(f"{job}.2", 0.0))  # The launcher reports it again.
    assert cluster.master.recheck_at_us == since_us + 30 * SECOND_US
    cluster.replay()  # While it is away, the time comes.
    cluster.now_us = since_us + 500 * SECOND_US
    cluster.go_on()
    cluster.handle(AttemptRunning(f"{job}.2", 0.0))
    assert stops_of(cluster, job) == []  # Its end may be reported, too.
    pass_until(cluster, cluster.master.recheck_at_us)
    assert stops_of(cluster, job) == [(10, 20)]
    cluster.begin()
    assert stops_of(cluster, job) == [(10, 20)]
    ends(cluster, job, STOPPED)
    found = cluster.job(job)
    assert found.state is JobState.FAILED
    assert found.reason == "in 2 attempts it ran 9 min 16 s of its max_duration, 100s"


@pytest.mark.parametrize(
    ("end", "ran_s"), [(SAVED, 27), (RankExit(1, None, "exited", 0.0, JUST_NOW_S), 26)]
)
def test_an_attempt_that_ends_without_time_left_is_the_last_one(
    cluster: ScriptedCluster, end: RankExit, ran_s: int
) -> None:
    job = cluster.submit(max_duration=100, retry={"max_attempts": 9}, **GRACE)
    since_us = running(cluster, job)
    if end is SAVED:
        cluster.now_us = since_us + 75 * SECOND_US
        cluster.ask(Change(job, "suspend", "ann"))
        cluster.now_us += 10 * SECOND_US
    else:
        cluster.now_us = since_us + 85 * SECOND_US
    ends(cluster, job, end)
    assert cluster.job(job).state is JobState.FAILED
    assert cluster.job(job).reason.endswith(
        f"it ran 1 min {ran_s} s of its max_duration, 100s, {FOR_ITS_END}"
    )
    cluster.until_started(cluster.submit(processes=4))


@pytest.mark.parametrize(("longest_s", "grace_s"), [(100, 30), (40, 30), (25, 16), (20, 11)])
def test_a_job_that_is_preempted_before_its_limit_is_killed_at_the_limit(
    cluster: ScriptedCluster, longest_s: float, grace_s: float
) -> None:
    job = cluster.submit(max_duration=longest_s)
    cluster.now_us = running(cluster, job) + 8 * SECOND_US
    cluster.ask(Change(job, "suspend", "ann"))  # It has run for 9 seconds.
    assert stops_of(cluster, job) == [(15, grace_s)]
    cluster.begin()
    cluster.now_us += 100 * SECOND_US
    assert stops_of(cluster, job) == [(15, grace_s)]


def test_processes_that_stop_with_another_one_are_killed_at_the_limit(
    cluster: ScriptedCluster,
) -> None:
    """The launcher stops them by itself. The master would have, half of the limit before it."""
    cluster.submit(max_duration=20)
    cluster.submit(max_duration=100)
    cluster.until_started(2)
    starts = [cluster.launcher.running[name].grace_s for name in ("1.1", "2.1")]
    assert starts == [10, 30]


def test_time_counts_from_the_start_of_the_processes_not_from_when_it_is_heard(
    cluster: ScriptedCluster,
) -> None:
    job = cluster.submit(max_duration=100, **GRACE)
    cluster.until_started(job)
    begin_us = cluster.now_us + 5 * SECOND_US
    cluster.now_us += 60 * SECOND_US
    cluster.handle(AttemptRunning(f"{job}.1", begin_us / SECOND_US))
    assert cluster.job(job).attempts[-1].running_us == begin_us
    assert cluster.master.recheck_at_us == begin_us + 80 * SECOND_US
    cluster.begin()
    assert cluster.job(job).attempts[-1].running_us == begin_us


def test_a_job_whose_start_is_heard_after_its_limit_may_have_ended(
    cluster: ScriptedCluster,
) -> None:
    job = cluster.submit(max_duration=100, retry={"max_attempts": 9}, **GRACE)
    cluster.until_started(job)
    begin_s = cluster.now_us / SECOND_US
    cluster.now_us += 1000 * SECOND_US
    cluster.handle(AttemptRunning(f"{job}.1", begin_s))
    ends(cluster, job, RankExit(1, None, "exited", begin_s, begin_s + 5))
    assert not cluster.job(job).state.is_final
    assert cluster.job(job).ran_us(cluster.now_us) == 5 * SECOND_US


@pytest.mark.parametrize("offset_s", [-3600.0, 3600.0])
def test_a_wrong_clock_of_a_machine_changes_no_limit(
    cluster: ScriptedCluster, offset_s: float
) -> None:
    job = cluster.submit(max_duration=100, **GRACE)
    cluster.until_started(job)
    begin_s = cluster.now_us / SECOND_US + offset_s
    cluster.handle(AttemptRunning(f"{job}.1", begin_s))
    assert abs(cluster.master.recheck_at_us - cluster.now_us - 80 * SECOND_US) <= SECOND_US
    cluster.ask(Change(job, "suspend", "ann"))
    cluster.now_us += 100 * SECOND_US
    ends(cluster, job, RankExit(0, None, "stopped", begin_s, begin_s + 30))
    assert cluster.job(job).ran_us(cluster.now_us) == 30 * SECOND_US


def test_time_after_the_end_of_the_processes_does_not_count(cluster: ScriptedCluster) -> None:
    job = cluster.submit(max_duration=100, retry={"max_attempts": 9}, **GRACE)
    since_us = running(cluster, job)
    cluster.now_us = since_us + 20 * SECOND_US
    cluster.ask(Change(job, "suspend", "ann"))
    cluster.now_us = since_us + 1000 * SECOND_US  # So long nobody told the master of the end.
    begin_s = since_us / SECOND_US
    ends(cluster, job, RankExit(0, None, "stopped", begin_s, begin_s + 30))
    assert cluster.job(job).state is JobState.SUSPENDED
    cluster.begin()
    cluster.ask(Change(job, "resume", "ann"))
    since_us = running(cluster, job)
    assert cluster.master.recheck_at_us == since_us + 50 * SECOND_US


def test_while_it_is_stopped_a_job_can_be_cancelled_but_not_kept(
    cluster: ScriptedCluster,
) -> None:
    job = cluster.submit(max_duration=100)
    pass_until(cluster, running(cluster, job) + 70 * SECOND_US)
    with pytest.raises(BadInput, match=rf"^job {job} has reached its max_duration and is being"):
        cluster.ask(Change(job, "suspend", "ann"))
    cluster.ask(UpdateJob(job, "ann", priority=3))
    cluster.ask(Change(job, "cancel", "ann"))
    assert cluster.job(job).state is JobState.CANCELLED
    ends(cluster, job, STOPPED)
    assert (cluster.job(job).state, cluster.job(job).reason) == (JobState.CANCELLED, "")
    cluster.until_started(cluster.submit(processes=4))


def test_a_job_that_is_resized_at_its_limit_does_not_go_on(cluster: ScriptedCluster) -> None:
    job = cluster.train(workers={"min": 1, "max": 3}, max_duration=100, **GRACE)
    cluster.until_started(job)
    since_us = running(cluster, job)
    pass_until(cluster, since_us + 80 * SECOND_US)
    number = len(cluster.job(job).attempts)
    exits = (STOPPED,) * cluster.job(job).attempts[-1].processes
    cluster.handle(AttemptEnded(f"{job}.{number}", exits))
    assert cluster.job(job).state is JobState.FAILED


def test_a_trial_has_only_its_own_limit(cluster: ScriptedCluster) -> None:
    job = cluster.submit(processes=2, trial=True, max_duration=20)
    since_us = running(cluster, job - 1)
    assert cluster.master.recheck_at_us == since_us + 60 * SECOND_US


@pytest.mark.parametrize("steps", [1, 2])
def test_a_job_that_ended_while_the_server_was_away_is_judged_by_its_end(
    cluster: ScriptedCluster, steps: int
) -> None:
    job = cluster.submit(max_duration=100, retry={"max_attempts": 9})
    since_us = running(cluster, job)
    cluster.replay()
    cluster.now_us = since_us + 500 * SECOND_US  # The limit has passed.
    cluster.go_on()
    cluster.handle()
    begin_s = since_us / SECOND_US
    failed = RankExit(1, None, "exited", begin_s, begin_s + 5)
    reports = [AttemptRunning(f"{job}.1", 0.0), AttemptEnded(f"{job}.1", (failed,))]
    for each in [reports] if steps == 1 else [[report] for report in reports]:
        cluster.handle(*each)
    assert not cluster.job(job).state.is_final
    assert cluster.job(job).attempts[0].outcome == "failed"
