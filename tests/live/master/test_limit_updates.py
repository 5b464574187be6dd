"""Other time limits for jobs that wait, run or stop: who may give them, and when they hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.domain.events import RemainingMeasured, event_from_json
from motet.interfaces.server.views import job_explanation
from motet.live.jobs.array_file import array_spec
from motet.live.jobs.job_file import job_spec
from motet.live.launcher.messages import AttemptEnded, AttemptRunning, RankExit
from motet.live.master.intake import Change, ChoosePolicy
from motet.live.master.job_updates import LimitRaised, UpdateJob
from motet.live.master.submissions.submission import SubmitArray
from scripted_cluster import SECOND_US, ScriptedCluster
from scripted_launcher import JUST_NOW_S

GRACE = {"preempt": {"grace_s": 20}}
STOPPED = RankExit(None, 15, "stopped", 0.0, JUST_NOW_S)
HOUR_US = 3600 * SECOND_US


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path)
    yield found
    found.close()


def running(cluster: ScriptedCluster, job: int) -> int:
    """The first attempt of a job runs; returns since when."""
    cluster.until_started(job)
    cluster.handle(AttemptRunning(f"{job}.1", cluster.now_us / SECOND_US))
    since_us = cluster.job(job).attempts[0].running_us
    assert since_us is not None
    return since_us


def limit(
    cluster: ScriptedCluster, job: int, longest_s: float, *, is_admin: bool = True
) -> float | None:
    """Give a job this limit (0: none); returns what it is then."""
    cluster.ask(UpdateJob(job, "ann", max_duration=longest_s, may_raise_limit=is_admin))
    return cluster.job(job).spec.max_duration


def test_a_job_that_runs_obeys_at_once(cluster: ScriptedCluster) -> None:
    job = cluster.submit(max_duration=1000, **GRACE)
    since_us = running(cluster, job)
    assert limit(cluster, job, 100) == 100
    assert cluster.master.recheck_at_us == since_us + 80 * SECOND_US
    assert limit(cluster, job, 500) == 500
    assert cluster.master.recheck_at_us == since_us + 480 * SECOND_US
    cluster.begin()  # The journal has it.
    cluster.handle(AttemptRunning("1.1", since_us / SECOND_US))
    assert cluster.master.recheck_at_us == since_us + 480 * SECOND_US
    assert limit(cluster, job, 0) is None
    assert cluster.master.recheck_at_us > since_us + HOUR_US
    cluster.now_us = since_us + 300 * SECOND_US
    assert limit(cluster, job, 200) == 200  # It has run longer: it gets its signal and its grace.
    assert cluster.master.recheck_at_us <= cluster.now_us
    cluster.handle()
    attempt = cluster.job(job).attempts[-1]
    assert (attempt.stop_cause, attempt.grace_s) == ("time_limit", 20)
    with pytest.raises(BadInput, match="is being stopped; its limit can no longer be changed"):
        limit(cluster, job, 1000)
    cluster.handle(AttemptEnded("1.1", (STOPPED,)))
    assert cluster.job(job).reason.startswith("it ran 5 min 4 s of its max_duration, 200s")


@pytest.mark.parametrize("longest_s", [10, 99, 100, 101, 115, 119, 120])
def test_a_lowered_limit_leaves_the_whole_grace_period(
    cluster: ScriptedCluster, longest_s: float
) -> None:
    """Else a limit just above what the job ran would end it earlier than one just below."""
    job = cluster.submit(max_duration=1000, **GRACE)
    cluster.now_us = running(cluster, job) + 100 * SECOND_US
    assert limit(cluster, job, longest_s) == longest_s
    assert cluster.master.recheck_at_us <= cluster.now_us
    at_us = cluster.now_us + SECOND_US
    cluster.handle()
    attempt = cluster.job(job).attempts[-1]
    grace_s = min(20, longest_s / 2)
    assert (attempt.stop_cause, attempt.grace_s) == ("time_limit", grace_s)
    assert attempt.stopping_us is not None
    assert attempt.stopping_us <= at_us


@pytest.mark.parametrize("longest_s", [125, 130, 900])
def test_a_lowered_limit_is_kept_where_the_grace_period_fits_before_it(
    cluster: ScriptedCluster, longest_s: float
) -> None:
    job = cluster.submit(max_duration=1000, **GRACE)
    since_us = running(cluster, job)
    cluster.now_us = since_us + 100 * SECOND_US
    limit(cluster, job, longest_s)
    signal_us = since_us + round((longest_s - 20) * SECOND_US)
    assert cluster.master.recheck_at_us == signal_us
    cluster.now_us = signal_us - SECOND_US
    cluster.handle()
    attempt = cluster.job(job).attempts[-1]
    assert attempt.stopping_us is not None
    killed_us = attempt.stopping_us + round(attempt.grace_s * SECOND_US)
    assert killed_us - since_us == pytest.approx(longest_s * SECOND_US, abs=SECOND_US)


def test_users_may_lower_a_limit_and_admins_may_raise_it(cluster: ScriptedCluster) -> None:
    job, free = cluster.submit(max_duration=100), cluster.submit()
    assert limit(cluster, free, 50, is_admin=False) == 50
    assert limit(cluster, job, 90, is_admin=False) == 90
    assert limit(cluster, job, 90, is_admin=False) == 90
    for longest_s in (100, 0):
        with pytest.raises(LimitRaised, match="job 1 has a max_duration of 90s; users may lower"):
            limit(cluster, job, longest_s, is_admin=False)
    assert limit(cluster, job, 100) == 100
    assert limit(cluster, job, 0) is None


def test_a_job_that_does_not_run_keeps_time_for_another_attempt(cluster: ScriptedCluster) -> None:
    job = cluster.submit(max_duration=1000, **GRACE)
    cluster.now_us = running(cluster, job) + 58 * SECOND_US
    cluster.ask(Change(job, "suspend", "ann"))
    cluster.handle(AttemptEnded("1.1", (STOPPED,)))
    with pytest.raises(
        BadInput, match="job 1 ran 1 min and does not run now; with max_duration 80"
    ):
        limit(cluster, job, 80)
    assert limit(cluster, job, 81) == 81
    cluster.ask(Change(job, "resume", "ann"))
    cluster.handle(AttemptRunning("1.2", cluster.now_us / SECOND_US))
    assert cluster.master.recheck_at_us <= cluster.now_us + SECOND_US


def test_the_expected_duration_is_at_most_the_limit(tmp_path: Path) -> None:
    cluster = ScriptedCluster(tmp_path, ChoosePolicy("srtf"))
    runs = cluster.submit(processes=4, duration_s=50)
    first, second = (cluster.submit(processes=4, duration_s=each) for each in (300, 500))
    limit(cluster, second, 200)
    assert (cluster.job(second).spec.duration_s, cluster.job(first).spec.duration_s) == (200, 300)
    spec = cluster.job(second).spec
    assert job_spec(spec.model_dump(mode="json")) == spec  # As the process of a training reads it.
    assert cluster.store is not None
    *_, record = cluster.store.records()
    (event,) = map(event_from_json, json.loads(record.events))
    assert isinstance(event, RemainingMeasured)
    assert dict(zip(event.jobs.tolist(), event.remaining_us.tolist(), strict=True)) == {
        second: 200 * SECOND_US
    }
    cluster.handle(cluster.launcher.ended(f"{runs}.1"))
    assert cluster.job(second).attempt is not None
    assert cluster.job(first).attempt is None
    cluster.close()


def test_the_jobs_of_an_array_that_have_not_ended_get_the_limit(cluster: ScriptedCluster) -> None:
    values = {"name": "grid", "run": "true", "workdir": "/", "array": "0-2"}
    array = cluster.ask(SubmitArray(array_spec(values), "ann"))
    first, *others = (job.number for job in cluster.master.state.arrays[array].jobs)
    cluster.handle(cluster.launcher.ended(f"{first}.1"))
    cluster.ask(UpdateJob(array, "ann", max_duration=60))
    found = [cluster.job(job).spec.max_duration for job in (first, *others)]
    assert found == [None, 60, 60]


def test_a_trial_keeps_its_own_limit(cluster: ScriptedCluster) -> None:
    job = cluster.submit(processes=2, trial=True)
    with pytest.raises(BadInput, match=r"is a trial, which has a limit of its own"):
        limit(cluster, job - 1, 10)
    assert limit(cluster, job, 10) == 10


def test_changes_of_the_limit_are_explained(cluster: ScriptedCluster) -> None:
    job = cluster.submit(max_duration=7200)
    limit(cluster, job, 3600)
    limit(cluster, job, 0)
    cluster.begin()
    chapters = job_explanation(cluster.master.state, job, cluster.now_us)["chapters"]
    assert [each["sentence"] for each in chapters if each["event"] == "update"] == [
        "max_duration was changed from 2h to 1h by ann",
        "max_duration was changed from 1h to none by ann",
    ]
