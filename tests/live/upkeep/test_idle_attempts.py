"""Jobs that hold slots and write nothing are marked, and no longer once they write again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.interfaces.server.metrics.cluster_figures import ClusterFigures
from motet.interfaces.server.views import job_line
from motet.interfaces.server.web.pages import job as job_page
from motet.live.jobs.attempt import AttemptPhase
from motet.live.master.facts import AttemptIdle
from motet.live.master.intake import ChoosePolicy
from motet.live.upkeep.idle_attempts import IdleWatch, RunningAttempt, running_attempts
from scripted_cluster import SECOND_US, ScriptedCluster

NOW_US = 1_700_000_000 * SECOND_US


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path)
    yield found
    found.close()


def write(path: Path, at_us: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    os.utime(path, ns=(at_us * 1000, at_us * 1000))
    os.utime(path.parent, ns=(at_us * 1000, at_us * 1000))


@pytest.mark.parametrize("file", ["log", "progress.jsonl", "checkpoint", ""])
def test_any_sign_of_life_counts(cluster: ScriptedCluster, file: str) -> None:
    watch = IdleWatch(cluster.master._workplace, 60.0)
    began_us, wrote_us = NOW_US - 1000 * SECOND_US, NOW_US - 10 * SECOND_US
    if file == "checkpoint":
        write(watch.workplace.checkpoint_folder(1) / "model.pt", wrote_us)
    elif file:
        write(watch.workplace.attempt_folder(1, 2) / "rank-1" / file, wrote_us)
    active = RunningAttempt(1, 3, 2, began_us, None)
    idle = active._replace(idle_since_us=began_us)

    if file:
        assert not list(watch.changes([active], NOW_US))
        assert list(watch.changes([idle], NOW_US)) == [AttemptIdle(1, 3, None)]
        later_us = wrote_us + 60 * SECOND_US
        assert not list(watch.changes([active], later_us - 1))
        assert list(watch.changes([active], later_us)) == [AttemptIdle(1, 3, wrote_us)]
    else:
        assert list(watch.changes([active], NOW_US)) == [AttemptIdle(1, 3, began_us)]
        assert not list(watch.changes([idle], NOW_US))


def test_what_the_launcher_writes_is_no_sign_of_life(cluster: ScriptedCluster) -> None:
    """It renews the lease of the processes every few minutes, whatever these do."""
    watch = IdleWatch(cluster.master._workplace, 1800.0)
    folder = watch.workplace.attempt_folder(1, 2) / "rank-0"
    began_us = NOW_US - 7200 * SECOND_US
    write(folder / "log", began_us)
    write(folder / "control.json", NOW_US - 100 * SECOND_US)
    idle = AttemptIdle(1, 3, began_us)
    assert list(watch.changes([RunningAttempt(1, 3, 2, began_us, None)], NOW_US)) == [idle]


def test_an_idle_job_is_marked_until_it_writes_or_ends(cluster: ScriptedCluster) -> None:
    job = cluster.submit()
    assert running_attempts(cluster.master.state) == []
    cluster.ask(cluster.launcher.started("1.1"))
    (running,) = running_attempts(cluster.master.state)
    cluster.ask(AttemptIdle(job, 1, running.running_us))
    line = job_line(cluster.master.state, cluster.job(job))
    assert (line["state"], line["reason"]) == ("RUNNING", "NoProgress")
    assert "has written nothing to logs or checkpoints since 2023-11-14 22:13" in line["message"]
    cluster.begin()
    assert job_line(cluster.master.state, cluster.job(job))["reason"] == "NoProgress"
    cluster.ask(AttemptIdle(job, 1, None))
    assert job_line(cluster.master.state, cluster.job(job))["reason"] == ""
    cluster.ask(AttemptIdle(job, 1, running.running_us))
    cluster.ask(cluster.launcher.ended("1.1"))
    assert job_line(cluster.master.state, cluster.job(job))["reason"] == ""
    cluster.ask(AttemptIdle(job, 1, running.running_us))
    assert not running_attempts(cluster.master.state)


def about_message(cluster: ScriptedCluster, job: int) -> str:
    """What the page of the job says before its sentence."""
    workplace, now_us = cluster.master._workplace, cluster.now_us
    document = job_page(cluster.master.state, job, workplace, now_us, ())
    return str(document["about_message"])


def test_the_page_warns_of_an_idle_job_until_it_is_preempted(tmp_path: Path) -> None:
    cluster = ScriptedCluster(tmp_path, ChoosePolicy("tiresias-las", {"thresholds": "10"}))
    figures = ClusterFigures()
    idle = cluster.submit(processes=4)
    cluster.ask(cluster.launcher.started("1.1"))
    cluster.ask(AttemptIdle(idle, 1, cluster.now_us))
    figures.follow([cluster.job(idle)])
    assert (about_message(cluster, idle), figures.idle) == ("Warning:", {idle})

    waits = cluster.submit(processes=4)
    while cluster.job(idle).attempts[0].phase is AttemptPhase.RUNNING:
        cluster.handle()
    figures.follow([cluster.job(idle)])
    assert job_line(cluster.master.state, cluster.job(idle))["reason"] == "InsufficientSlots"
    assert about_message(cluster, idle) == "Its processes are being stopped:"
    assert about_message(cluster, waits) == "Why it waits:"
    assert not figures.idle
    cluster.close()


def test_a_watch_without_limit_marks_nothing(cluster: ScriptedCluster) -> None:
    watch = IdleWatch(cluster.master._workplace, float("inf"))
    assert not list(watch.changes([RunningAttempt(1, 1, 1, 0, None)], NOW_US))


def test_idle_jobs_are_counted(cluster: ScriptedCluster) -> None:
    figures = ClusterFigures()
    job = cluster.submit()
    cluster.ask(cluster.launcher.started("1.1"))
    cluster.ask(AttemptIdle(job, 1, NOW_US))
    figures.follow([cluster.job(job)])
    assert figures.idle == {job}
    cluster.ask(cluster.launcher.ended("1.1"))
    figures.follow([cluster.job(job)])
    assert not figures.idle
