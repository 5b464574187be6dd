"""Jobs start unprofiled; the sizes of their model arrive later, and place their next attempt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.domain.events import event_from_json
from motet.domain.model_profile import ModelMeasured
from motet.live.master.facts import ClusterDeclared, ModelSeen
from motet.live.master.intake import Change, ChoosePolicy
from scripted_cluster import ScriptedCluster

THREE_MACHINES = ClusterDeclared(("m0", "m1", "m2"), (2, 2, 4))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path, ChoosePolicy("tiresias-las"), THREE_MACHINES)
    yield found
    found.close()


def machines(cluster: ScriptedCluster, job: int) -> tuple[int, ...]:
    attempt = cluster.job(job).attempt
    assert attempt is not None
    return attempt.placement.machines


def started_again(cluster: ScriptedCluster, job: int) -> tuple[int, ...]:
    """Machines of its next attempt."""
    cluster.ask(Change(job, "suspend", "ann"))
    cluster.ask(cluster.launcher.ended(f"{job}.{len(cluster.job(job).attempts)}", 0, "stopped"))
    cluster.ask(Change(job, "resume", "ann"))
    return machines(cluster, job)


def recorded(cluster: ScriptedCluster) -> list[ModelMeasured]:
    assert cluster.store is not None
    events = [
        event_from_json(it) for each in cluster.store.records() for it in json.loads(each.events)
    ]
    return [each for each in events if isinstance(each, ModelMeasured)]


@pytest.mark.parametrize(("largest_bytes", "place"), [(80, (2,)), (10, (0, 1))])
def test_a_gang_is_consolidated_if_one_tensor_is_most_of_its_model(
    cluster: ScriptedCluster, largest_bytes: int, place: tuple[int, ...]
) -> None:
    job = cluster.submit(4)
    assert machines(cluster, job) == (0, 1), "unprofiled: the first free slots"
    cluster.ask(ModelSeen(job, 100, largest_bytes))
    assert machines(cluster, job) == (0, 1), "a job that runs is not moved"
    assert started_again(cluster, job) == place


def test_the_sizes_are_in_the_journal_once(cluster: ScriptedCluster) -> None:
    job = cluster.submit(4)
    for _ in range(2):
        cluster.ask(ModelSeen(job, 100, 80))
    assert recorded(cluster) == [ModelMeasured(job, 100, 80)]
    cluster.begin()
    assert cluster.job(job).model == (100, 80)
    cluster.ask(ModelSeen(job, 100, 80))
    assert len(recorded(cluster)) == 1
    assert started_again(cluster, job) == (2,), "the next master places by it as well"


def test_sizes_of_a_job_that_has_ended_are_no_news(cluster: ScriptedCluster) -> None:
    job = cluster.submit(1)
    cluster.ask(cluster.launcher.ended(f"{job}.1"))
    cluster.ask(ModelSeen(job, 100, 80))
    assert recorded(cluster) == []
