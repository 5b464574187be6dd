"""Waits while the cluster cannot be reached, in the stories of jobs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.insight.story_event import StoryEvent
from motet.interfaces.server.stories.explanation import explained
from motet.interfaces.server.stories.outages import with_outages
from motet.interfaces.server.views import job_explanation
from motet.live.launcher.messages import ClusterSeen, MachineSeen
from motet.live.master.facts import ClusterDeclared
from motet.live.master.machine_drains import Outage
from scripted_cluster import SECOND_US, ScriptedCluster

M1 = (MachineSeen("m1", 2, takes_jobs=True),)
AWAY = "Ray does not answer"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path, cluster=ClusterDeclared((), (), joins=True))
    yield found
    found.close()


def waits(cluster: ScriptedCluster, job: int) -> list[tuple[str, int]]:
    """Reasons with their seconds."""
    story = explained(cluster.master.state, job, cluster.now_us).story
    return [
        (each.because.reason, (story.lasted_us(each) or 0) // SECOND_US)
        for each in story.chapters
        if each.kind == "wait"
    ]


def test_the_time_in_which_the_cluster_cannot_be_reached_is_a_wait_of_its_own(
    cluster: ScriptedCluster,
) -> None:
    cluster.ask(ClusterSeen(M1))
    cluster.submit(processes=2)
    job = cluster.submit()
    cluster.now_us += 9 * SECOND_US
    cluster.ask(ClusterSeen(M1, AWAY))
    late = cluster.submit()
    cluster.now_us += 19 * SECOND_US
    document = job_explanation(cluster.master.state, late, cluster.now_us)
    assert document["reason"] == "ClusterUnreachable"
    (row,) = (each for each in document["chapters"] if each["kind"] == "wait")
    assert row["sentence"].endswith(f"the cluster cannot be reached: {AWAY}")
    cluster.ask(ClusterSeen(M1))
    cluster.now_us += 4 * SECOND_US
    before, during, after = waits(cluster, job)
    assert [before[0], during, after[0]] == [
        "too_few_gpus",
        ("cluster_unreachable", 21),
        "too_few_gpus",
    ]
    assert waits(cluster, late)[0][0] == "cluster_unreachable"
    sums = explained(cluster.master.state, job, cluster.now_us).story.waiting_us
    assert sums["cluster_unreachable"] == 21 * SECOND_US


def test_a_job_that_runs_during_an_outage_does_not_wait() -> None:
    events = [StoryEvent(0, "wait", 1, "too_few_gpus"), StoryEvent(5, "start", 1)]
    assert with_outages(events, [Outage(7, AWAY, 9)]) == events


def test_a_job_that_loses_its_slots_during_an_outage_waits_for_the_cluster_then() -> None:
    start, evict = StoryEvent(0, "start", 1), StoryEvent(8, "evict", 1)
    wait, later = StoryEvent(8, "wait", 1, "too_few_gpus"), StoryEvent(20, "start", 1)
    found = with_outages([start, evict, wait, later], [Outage(7, AWAY, 10)])
    assert [(each.time_us, each.event, each.reason) for each in found] == [
        (0, "start", ""),
        (8, "evict", ""),
        (8, "wait", "cluster_unreachable"),
        (10, "wait", "too_few_gpus"),
        (20, "start", ""),
    ]
