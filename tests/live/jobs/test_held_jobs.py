"""Jobs that wait for other jobs to succeed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.interfaces.server.views import job_line
from motet.live.jobs.job_state import JobState
from motet.live.master.intake import Change
from motet.live.master.job_updates import UpdateJob
from motet.live.queues.queue_changes import CreateQueue
from scripted_cluster import ScriptedCluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path)
    yield found
    found.close()


def _why(cluster: ScriptedCluster, job: int) -> tuple[str, str]:
    line = job_line(cluster.master.state, cluster.job(job))
    return line["reason"], line["message"]


def test_a_job_starts_when_all_jobs_that_it_waits_for_have_succeeded(
    cluster: ScriptedCluster,
) -> None:
    first, second = cluster.submit(), cluster.submit()
    last = cluster.submit(after=[first, str(second)])
    sentence = "waits until jobs 1 and 2 have succeeded"
    assert _why(cluster, last) == ("Dependency", sentence)
    cluster.ask(cluster.launcher.ended("2.1"))
    assert _why(cluster, last) == ("Dependency", "waits until job 1 has succeeded")
    assert cluster.job(last).state is JobState.PENDING
    cluster.ask(cluster.launcher.ended("1.1"))
    assert cluster.job(last).state is JobState.STARTING


def test_a_released_job_is_behind_those_that_waited_for_slots_before(
    cluster: ScriptedCluster,
) -> None:
    first = cluster.submit(processes=4)
    last = cluster.submit(processes=4, after=first)
    other = cluster.submit(processes=4)
    cluster.ask(cluster.launcher.ended("1.1"))
    assert cluster.job(other).state is JobState.STARTING
    assert _why(cluster, last)[0] == "InsufficientSlots"


@pytest.mark.parametrize("failure", ["exit", "cancel"])
def test_a_job_is_cancelled_with_those_that_it_waits_for(
    cluster: ScriptedCluster, failure: str
) -> None:
    first = cluster.submit()
    second = cluster.submit(after=first)
    third = cluster.submit(after=second)
    if failure == "exit":
        cluster.ask(cluster.launcher.ended("1.1", 1))
    else:
        cluster.ask(Change(first, "cancel", "ann"))
    state = cluster.job(first).state
    assert cluster.job(second).state is cluster.job(third).state is JobState.CANCELLED
    assert cluster.job(second).reason == f"it waits for job 1 to succeed, which is {state}"
    assert cluster.job(third).reason == "it waits for job 2 to succeed, which is CANCELLED"


def test_a_job_can_wait_for_one_that_has_succeeded(cluster: ScriptedCluster) -> None:
    first = cluster.submit()
    cluster.ask(cluster.launcher.ended("1.1"))
    assert cluster.job(cluster.submit(after=first)).state is JobState.STARTING


def test_a_job_that_could_never_start_is_refused(cluster: ScriptedCluster) -> None:
    with pytest.raises(BadInput, match="after: there is no job 1"):
        cluster.submit(after=1)
    first = cluster.submit()
    cluster.ask(cluster.launcher.ended("1.1", 1))
    with pytest.raises(BadInput, match="after: job 1 is FAILED; the job could never start"):
        cluster.submit(after=first)


def test_a_held_job_survives_a_crash_and_can_be_changed(cluster: ScriptedCluster) -> None:
    cluster.ask(CreateQueue("ml", "ann"))
    first = cluster.submit()
    held = cluster.submit(after=first)
    cluster.ask(Change(held, "suspend", "ann"))
    cluster.ask(UpdateJob(held, "ann", 3, "ml"))
    cluster.begin()
    cluster.ask(cluster.launcher.ended("1.1"))
    assert cluster.job(held).state is JobState.SUSPENDED
    assert (cluster.job(held).spec.priority, cluster.job(held).spec.queue) == (3, "ml")
    cluster.ask(Change(held, "resume", "ann"))
    assert cluster.job(held).state is JobState.STARTING


def test_a_held_job_that_is_cancelled_never_starts(cluster: ScriptedCluster) -> None:
    first = cluster.submit()
    held = cluster.submit(after=first)
    cluster.ask(Change(held, "cancel", "ann"))
    cluster.ask(cluster.launcher.ended("1.1"))
    assert cluster.job(held).state is JobState.CANCELLED
    assert not cluster.job(held).attempts
