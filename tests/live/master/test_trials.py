"""Trials in the master: they run first, end in time, and decide about their jobs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.interfaces.server.logs import log_place
from motet.live.jobs.array_file import array_spec
from motet.live.jobs.job_state import JobState
from motet.live.launcher.messages import AttemptEnded, AttemptRunning, RankExit, StopAttempt
from motet.live.master.facts import DependencyFailed
from motet.live.master.intake import Change
from motet.live.master.submissions.repeated_request import KeyReused
from motet.live.master.submissions.submission import SubmitArray
from scripted_cluster import SECOND_US, ScriptedCluster

JOB = {"name": "job", "run": "true", "workdir": "/", "processes": 2, "trial": True}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path)
    yield found
    found.close()


def end(cluster: ScriptedCluster, job: int, code: int) -> None:
    """The processes of the first attempt end."""
    one = RankExit(code, None, "exited", 0.0, cluster.now_us / SECOND_US)
    count = cluster.job(job).attempts[0].processes
    cluster.handle(AttemptEnded(f"{job}.1", (one,) * count, "SyntaxError: invalid syntax"))


def states(cluster: ScriptedCluster, *jobs: int) -> list[JobState]:
    return [cluster.job(job).state for job in jobs]


def test_a_job_starts_when_its_trial_has_succeeded(cluster: ScriptedCluster) -> None:
    job = cluster.submit(**JOB, key="once")
    trial = job - 1
    assert cluster.submit(**JOB, key="once") == job
    with pytest.raises(KeyReused):
        cluster.submit(**{**JOB, "processes": 3}, key="once")
    assert [cluster.job(each).spec.name for each in (trial, job)] == ["job-trial", "job"]
    assert states(cluster, job) == [JobState.PENDING]
    cluster.until_started(trial)
    assert cluster.job(trial).attempts[0].processes == 1
    end(cluster, trial, 0)
    assert states(cluster, trial, job) == [JobState.SUCCEEDED, JobState.STARTING]
    assert cluster.job(job).attempts[0].processes == 2


def test_a_trial_that_runs_on_has_passed_after_its_limit(cluster: ScriptedCluster) -> None:
    job = cluster.submit(**{**JOB, "trial": {"limit_s": 30}})
    trial = job - 1
    cluster.until_started(trial)
    cluster.handle(AttemptRunning(f"{trial}.1", 0.0))
    due_us = cluster.master.recheck_at_us
    running_us = cluster.job(trial).attempts[0].running_us
    assert running_us is not None
    assert due_us == running_us + 30 * SECOND_US
    cluster.now_us = due_us - 2 * SECOND_US
    cluster.handle()
    assert states(cluster, trial) == [JobState.RUNNING]
    cluster.begin()  # The master was killed, and reads its journal.
    cluster.handle()
    assert states(cluster, trial) == [JobState.RUNNING]  # It may have ended meanwhile.
    cluster.handle(AttemptRunning(f"{trial}.1", 0.0))
    cluster.now_us = cluster.master.recheck_at_us
    cluster.handle()
    assert states(cluster, trial, job) == [JobState.SUCCEEDED, JobState.PENDING]
    attempt = cluster.job(trial).attempts[0]
    assert (attempt.phase, attempt.stop_cause) == ("stopping", "trial_passed")
    assert any(
        isinstance(each, StopAttempt) and each.attempt == f"{trial}.1"
        for each in cluster.master.pending_requests
    )
    one = RankExit(None, 15, "stopped", 0.0, 1.0)
    cluster.handle(AttemptEnded(f"{trial}.1", (one,)))
    assert states(cluster, trial, job) == [JobState.SUCCEEDED, JobState.STARTING]
    assert attempt.outcome == "stopped"
    assert cluster.job(trial).reason == ""


def test_the_time_in_line_is_not_the_time_of_the_trial(cluster: ScriptedCluster) -> None:
    large = cluster.submit(processes=4)
    cluster.until_started(large)
    trial = cluster.submit(**JOB) - 1
    cluster.now_us += 1000 * SECOND_US
    cluster.handle()
    assert states(cluster, trial) == [JobState.PENDING]


def test_a_job_whose_trial_fails_never_starts(cluster: ScriptedCluster) -> None:
    job = cluster.submit(**{**JOB, "retry": {"max_attempts": 3}})
    cluster.until_started(job - 1)
    end(cluster, job - 1, 1)
    assert states(cluster, job - 1, job) == [JobState.FAILED, JobState.FAILED]
    assert cluster.job(job).reason.startswith(f"its trial, job {job - 1}, is FAILED: the process")
    assert (cluster.job(job).attempts, cluster.job(job).failed_trial) == ([], job - 1)
    cluster.begin()  # The master was killed, and reads its journal.
    assert states(cluster, job) == [JobState.FAILED]
    place = log_place(cluster.master.state, job, attempt=0, rank=0)
    assert (place.job, place.attempt, place.has_ended) == (job - 1, 1, True)


def test_a_failed_trial_fails_all_jobs_of_its_array(cluster: ScriptedCluster) -> None:
    array = cluster.ask(SubmitArray(array_spec({**JOB, "array": "0-2"}), "ann"))
    later = cluster.submit(after=[array])
    cluster.until_started(array - 1)
    end(cluster, array - 1, 1)
    assert cluster.master.state.arrays[array].state is JobState.FAILED
    assert states(cluster, later) == [JobState.CANCELLED]


def test_the_trial_of_another_job_is_a_dependency_like_any_other(cluster: ScriptedCluster) -> None:
    trial = cluster.submit(**JOB) - 1
    other = cluster.submit(after=[trial])
    tried = cluster.submit(**JOB, after=[trial])
    cluster.until_started(trial)
    end(cluster, trial, 1)
    assert states(cluster, other, tried) == [JobState.CANCELLED] * 2
    assert cluster.job(other).reason == f"it waits for job {trial} to succeed, which is FAILED"
    assert cluster.job(other).failed_trial == 0


def test_a_record_of_an_earlier_version_cancels_the_job(cluster: ScriptedCluster) -> None:
    job = cluster.submit(**JOB)
    state = cluster.master.state
    state.fold(cluster.now_us, DependencyFailed(job, "its trial has failed"))
    assert states(cluster, job) == [JobState.CANCELLED]


def test_a_trial_is_cancelled_with_its_job(cluster: ScriptedCluster) -> None:
    job = cluster.submit(**JOB)
    cluster.ask(Change(job, "cancel", "ann"))
    assert states(cluster, job - 1, job) == [JobState.CANCELLED] * 2
    other = cluster.submit(**JOB)
    cluster.ask(Change(other - 1, "cancel", "ann"))
    assert states(cluster, other - 1, other) == [JobState.CANCELLED] * 2
    assert cluster.job(other).reason == f"its trial, job {other - 1}, is CANCELLED: by a user"


def test_the_jobs_of_an_array_have_one_trial(cluster: ScriptedCluster) -> None:
    spec = array_spec({**JOB, "array": "0-2"})
    array = cluster.ask(SubmitArray(spec, "ann"))
    trial, jobs = array - 1, cluster.master.state.arrays[array].jobs
    assert len(jobs) == 3
    assert all(job.spec.after == (trial,) for job in jobs)
    cluster.ask(Change(jobs[0].number, "cancel", "ann"))
    assert states(cluster, trial) == [JobState.STARTING]
    cluster.until_started(trial)
    end(cluster, trial, 0)
    assert states(cluster, jobs[1].number, jobs[2].number) == [JobState.STARTING] * 2


def test_a_trial_that_failed_while_the_server_was_away_has_failed(cluster: ScriptedCluster) -> None:
    job = cluster.submit(**JOB)
    trial = job - 1
    cluster.until_started(trial)
    cluster.handle(AttemptRunning(f"{trial}.1", 0.0))
    cluster.replay()
    cluster.now_us += 500 * SECOND_US
    cluster.go_on()
    cluster.handle(AttemptRunning(f"{trial}.1", 0.0))
    end(cluster, trial, 1)
    assert states(cluster, trial, job) == [JobState.FAILED, JobState.FAILED]
