"""Queues, and jobs that get another queue or priority."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from motet.domain.errors import BadInput, NotFound
from motet.interfaces.server.queue_routes import queue_documents
from motet.interfaces.server.views import job_explanation
from motet.live.jobs.job_state import JobState
from motet.live.master.intake import ChoosePolicy
from motet.live.master.job_updates import UpdateJob
from motet.live.queues.queue_changes import CreateQueue
from scripted_cluster import ScriptedCluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path)
    yield found
    found.close()


def test_a_job_names_a_queue_that_exists(cluster: ScriptedCluster) -> None:
    with pytest.raises(BadInput, match="unknown queue 'ml'; known: default; create it: motet"):
        cluster.submit(queue="ml")
    cluster.ask(CreateQueue("ml", "ann"))
    cluster.ask(CreateQueue("ml", "bob"))
    cluster.submit(queue="ml", processes=3)
    cluster.submit(processes=2)
    cluster.replay()
    names = ("name", "slots", "running", "waiting", "borrowed")
    assert [[each[name] for name in names] for each in queue_documents(cluster.master.state)] == [
        ["default", 0, 0, 1, 0],
        ["ml", 3, 1, 0, 3],
    ]


@pytest.mark.parametrize("name", ["", "a b", "../x", "-x", "x" * 64])
def test_names_of_queues_can_be_written_in_a_job_file(cluster: ScriptedCluster, name: str) -> None:
    with pytest.raises(BadInput, match="give 1 to 63 letters"):
        cluster.ask(CreateQueue(name, "ann"))


def test_drf_divides_slots_among_queues(tmp_path: Path) -> None:
    cluster = ScriptedCluster(tmp_path, ChoosePolicy("drf"))
    cluster.ask(CreateQueue("ml", "ann"))
    many = [cluster.submit(processes=2) for _ in range(3)]
    one = cluster.submit(processes=2, queue="ml")
    (stopping,) = cluster.launcher.stopping
    cluster.ask(cluster.launcher.ended(stopping, 0, "stopped"))
    assert cluster.job(one).state is JobState.STARTING
    running = [job for job in many if cluster.job(job).attempt is not None]
    assert len(running) == 1
    cluster.close()


def test_quotas_of_yarn_cs_are_those_of_queues(cluster: ScriptedCluster) -> None:
    quotas = ChoosePolicy("yarn-cs", {"quotas": "ml:2,default:2"})
    with pytest.raises(BadInput, match="no queue ml"):
        cluster.ask(quotas)
    assert cluster.master.state.policy.policy == "fifo"
    cluster.ask(CreateQueue("ml", "ann"))
    cluster.ask(quotas)
    cluster.submit(processes=2)
    waits, runs = cluster.submit(processes=2), cluster.submit(processes=2, queue="ml")
    assert (cluster.job(waits).state, cluster.job(runs).state) == ("PENDING", "STARTING")
    cluster.ask(cluster.launcher.ended(f"{runs}.1"))
    cluster.ask(UpdateJob(waits, "ann", queue="ml"))
    assert cluster.job(waits).state is JobState.STARTING


def test_an_updated_job_keeps_its_place(tmp_path: Path) -> None:
    cluster = ScriptedCluster(tmp_path)
    cluster.ask(CreateQueue("ml", "ann"))
    cluster.submit(processes=4)
    older, newer = cluster.submit(processes=4), cluster.submit(processes=4, queue="ml")
    submitted_us = cluster.job(older).submitted_us
    cluster.ask(UpdateJob(older, "ann", priority=5, queue="ml"))
    spec = cluster.job(older).spec
    assert (spec.priority, spec.queue) == (5, "ml")
    assert cluster.job(older).submitted_us == submitted_us
    cluster.replay()
    assert cluster.job(older).spec == spec
    cluster.ask(cluster.launcher.ended("1.1"))
    assert (cluster.job(older).state, cluster.job(newer).state) == ("STARTING", "PENDING")
    cluster.close()


def test_an_update_is_told_to_those_who_follow_the_jobs(cluster: ScriptedCluster) -> None:
    job = cluster.submit()
    cluster.master.take_changed()
    cluster.ask(UpdateJob(job, "ann", priority=1))
    assert [each.number for each in cluster.master.take_changed()] == [job]


def test_updates_that_cannot_be_are_refused(cluster: ScriptedCluster) -> None:
    job = cluster.submit()
    with pytest.raises(NotFound):
        cluster.ask(UpdateJob(7, "ann", priority=1))
    with pytest.raises(BadInput, match="unknown queue 'ml'"):
        cluster.ask(UpdateJob(job, "ann", queue="ml"))
    cluster.ask(cluster.launcher.ended("1.1"))
    with pytest.raises(BadInput, match="job 1 is SUCCEEDED; it can no longer be changed"):
        cluster.ask(UpdateJob(job, "ann", priority=1))


@pytest.mark.parametrize(
    ("size", "least"),
    [
        ({"run": "true", "processes": 3}, 3),
        ({"workers": {"min": 1, "max": 3}, "servers": 1}, 2),
        ({"machines": {"min": 1, "max": 2}}, 2),
        ({"machines": 2}, 4),
    ],
)
def test_queues_take_the_same_jobs_by_updates_as_by_submissions(
    cluster: ScriptedCluster, size: dict[str, Any], least: int
) -> None:
    submit = cluster.submit if "run" in size else cluster.train
    job = submit(**size)
    for most in range(5):
        queue = f"most-{most}"
        cluster.ask(CreateQueue(queue, "ann", {"borrow": most}))
        for attempt in (
            lambda queue=queue: cluster.ask(UpdateJob(job, "ann", queue=queue)),
            lambda queue=queue: submit(**size, queue=queue),
        ):
            if most >= least:
                attempt()
                continue
            with pytest.raises(BadInput, match=rf"{least}, but a job of queue {queue} gets {most}"):
                attempt()


def test_changes_of_a_job_are_explained(cluster: ScriptedCluster) -> None:
    job = cluster.submit()
    cluster.ask(CreateQueue("other", "ann"))
    cluster.ask(UpdateJob(job, "ann", priority=5))
    cluster.ask(UpdateJob(job, "ben", priority=5, queue="other"))
    chapters = job_explanation(cluster.master.state, job, cluster.now_us)["chapters"]
    assert [each["sentence"] for each in chapters if each["event"] == "update"] == [
        "priority was changed from 0 to 5 by ann",
        "queue was changed from default to other by ben",
    ]
