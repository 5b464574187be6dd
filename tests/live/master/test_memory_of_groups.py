"""Trainings share machines only as far as their memory permits, as declared and as measured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.domain.events import Event, SubtasksMeasured, event_from_json
from motet.live.jobs.job_state import JobState
from motet.live.launcher.messages import AttemptProgressed, SubtaskReport
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy
from scripted_cluster import ScriptedCluster

GB = 10**9
ONE_MACHINE = ClusterDeclared(("m0",), (2,), cpus=(4,), memory_bytes=(10 * GB,))
HARMONY = ChoosePolicy("harmony", {"check_s": "1"})


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path, HARMONY, ONE_MACHINE)
    yield found
    found.close()


def train(cluster: ScriptedCluster, **more: object) -> int:
    job = cluster.train(machines="any", epochs=100, **more)
    cluster.handle()
    if f"{job}.1" in cluster.launcher.running:
        cluster.handle(cluster.launcher.started(f"{job}.1"))
    return job


def measured(job: int, comp_s: float, comm_s: float, memory_bytes: int | None) -> AttemptProgressed:
    times = SubtaskReport(1, comp_s, comm_s, comp_s + comm_s, memory_bytes)
    return AttemptProgressed(f"{job}.1", 1.0, ((1.0, 5.0),), 1.0, times)


def subtasks_in_journal(cluster: ScriptedCluster) -> list[Event]:
    assert cluster.store is not None
    records = [json.loads(record.events) for record in cluster.store.records()]
    events = [event_from_json(each) for events in records for each in events]
    return [event for event in events if isinstance(event, SubtasksMeasured)]


def states(cluster: ScriptedCluster, *jobs: int) -> list[JobState]:
    return [cluster.job(job).state for job in jobs]


def test_a_job_whose_declared_memory_does_not_fit_beside_another_one_waits(
    cluster: ScriptedCluster,
) -> None:
    first, second = train(cluster, memory="6GB"), train(cluster, memory="6GB")
    assert states(cluster, first, second) == [JobState.RUNNING, JobState.PENDING]
    assert cluster.master.state.history.of(second)[-1].event == "group_memory"


def test_jobs_share_a_machine_that_has_their_declared_memory(cluster: ScriptedCluster) -> None:
    first, second = train(cluster, memory="4GB"), train(cluster, memory="4GB")
    assert states(cluster, first, second) == [JobState.RUNNING] * 2


@pytest.mark.parametrize(
    ("memory_bytes", "running"), [(7 * GB, 1), (4 * GB, 2), (None, 2)], ids=str
)
def test_jobs_that_were_measured_share_a_machine_only_if_it_has_their_memory(
    cluster: ScriptedCluster, memory_bytes: int | None, running: int
) -> None:
    computing, communicating = train(cluster), train(cluster)
    assert states(cluster, computing, communicating) == [JobState.RUNNING] * 2
    cluster.handle(measured(computing, 8, 1, memory_bytes))
    cluster.handle(measured(communicating, 2, 8, memory_bytes))
    cluster.handle()
    cluster.handle()
    assert 2 - len(cluster.launcher.stopping) == running


def test_what_the_machines_with_the_most_and_with_the_least_have_is_kept(
    cluster: ScriptedCluster,
) -> None:
    job = train(cluster)
    times = SubtaskReport(1, 8, 1, 9, 3 * GB, 2 * GB)
    cluster.handle(AttemptProgressed(f"{job}.1", 1.0, ((1.0, 5.0),), 1.0, times))
    assert subtasks_in_journal(cluster) == [SubtasksMeasured(job, 1, 8, 1, 9, 3 * GB, 2 * GB)]


def test_measured_memory_below_what_was_declared_lets_another_job_in(
    cluster: ScriptedCluster,
) -> None:
    first, second = train(cluster, memory="6GB"), train(cluster, memory="6GB")
    cluster.handle(measured(first, 8, 1, 2 * GB))
    cluster.handle()
    cluster.handle()
    assert f"{second}.1" in cluster.launcher.running
