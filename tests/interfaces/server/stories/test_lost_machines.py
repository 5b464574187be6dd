"""A job waits while processes of it may run on a machine that was lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.interfaces.server.stories.explanation import explained
from motet.interfaces.server.views import job_explanation
from motet.live.launcher.messages import ClusterSeen, MachineSeen
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import Change
from scripted_cluster import SECOND_US, ScriptedCluster

RAN_S, LEASE_S = 60, 39
M1, M2 = (MachineSeen(name, 2, takes_jobs=True) for name in ("m1", "m2"))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    """Of two machines that may leave."""
    found = ScriptedCluster(tmp_path, cluster=ClusterDeclared((), (), joins=True))
    found.ask(ClusterSeen((M1, M2)))
    yield found
    found.close()


def lost(cluster: ScriptedCluster) -> int:
    """A job whose machine is lost, while another one is free, and some of its lease has passed."""
    job = cluster.submit(processes=2)
    cluster.ask(cluster.launcher.started(f"{job}.1"))
    cluster.now_us += RAN_S * SECOND_US
    (name,) = machines(cluster, job)
    cluster.ask(ClusterSeen((M2 if name == "m1" else M1,)))
    cluster.now_us += (LEASE_S - 1) * SECOND_US
    return job


def machines(cluster: ScriptedCluster, job: int) -> list[str]:
    """Of its last attempt."""
    assert cluster.master.state.cluster is not None
    names = cluster.master.state.cluster.names
    return [names[each] for each in cluster.job(job).attempts[-1].placement.machines]


def intervals(cluster: ScriptedCluster, job: int) -> list[tuple[str, str, int]]:
    """Waits and runs: kind, reason and full seconds."""
    story = explained(cluster.master.state, job, cluster.now_us).story
    return [
        (each.kind, each.because.reason, (story.lasted_us(each) or 0) // SECOND_US)
        for each in story.chapters
        if each.kind != "moment"
    ]


def test_a_job_with_other_slots_waits_for_the_lease(cluster: ScriptedCluster) -> None:
    job = lost(cluster)
    assert [each[:2] for each in intervals(cluster, job)] == [("run", ""), ("wait", "machine_lost")]
    document = job_explanation(cluster.master.state, job, cluster.now_us)
    assert document["reason"] == "MachineLost"
    assert "end with their lease" in document["advice"]
    assert "may still run" in document["chapters"][-1]["sentence"]


def test_it_runs_again_when_its_processes_have_ended(cluster: ScriptedCluster) -> None:
    job = lost(cluster)
    cluster.now_us += SECOND_US
    cluster.ask(cluster.launcher.ended(f"{job}.1", None, "lost"))
    first, second = cluster.job(job).attempts
    assert second.requested_us == first.freed_us
    cluster.ask(cluster.launcher.started(f"{job}.2"))
    cluster.now_us += 7 * SECOND_US
    run, wait, again = intervals(cluster, job)
    assert (run[0], wait[0], again[0]) == ("run", "wait", "run")
    assert wait[2] >= LEASE_S
    assert again[2] < LEASE_S
    story = explained(cluster.master.state, job, cluster.now_us).story
    since_submission_us = cluster.now_us - cluster.job(job).submitted_us
    assert story.running_us + sum(story.waiting_us.values()) == since_submission_us


def test_a_job_that_ends_in_that_time_has_not_run_again(cluster: ScriptedCluster) -> None:
    job = lost(cluster)
    cluster.ask(Change(job, "cancel", "ann"))
    cluster.now_us += SECOND_US
    cluster.ask(cluster.launcher.ended(f"{job}.1", None, "lost"))
    kinds = [each[0] for each in intervals(cluster, job)]
    assert kinds == ["run", "wait"]
