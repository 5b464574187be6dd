"""Which attempts may use the pool of the cluster: as long as a process of them may run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.live.master.intake import Change
from motet.live.shared_pool.admissions import AdmittedAttempts, admission_of
from scripted_cluster import ScriptedCluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    """Four slots."""
    found = ScriptedCluster(tmp_path)
    yield found
    found.close()


def names(cluster: ScriptedCluster, attempts: AdmittedAttempts) -> list[str]:
    """Admitted jobs, without the time of their submission."""
    attempts.follow(cluster.master.take_changed())
    parts = [each.job.replace(".", "-").split("-") for each in attempts.admissions]
    return [f"{number}.{attempt}" for _, number, _, attempt in parts]


def test_a_job_is_admitted_from_its_start_until_its_last_process_has_ended(
    cluster: ScriptedCluster,
) -> None:
    attempts = AdmittedAttempts({})
    first, second = cluster.submit(3), cluster.submit(2)
    assert names(cluster, attempts) == [f"{first}.1"]
    cluster.ask(Change(first, "cancel", "ann"))
    assert names(cluster, attempts) == [f"{first}.1"], "its processes may save their state"
    cluster.ask(cluster.launcher.ended(f"{first}.1", 0, "stopped"))
    assert names(cluster, attempts) == [f"{second}.1"]
    assert attempts.numbers == {attempts.admissions[0].job: second}


def test_the_next_attempt_has_another_name(cluster: ScriptedCluster) -> None:
    attempts = AdmittedAttempts({})
    number = cluster.submit(2)
    assert names(cluster, attempts) == [f"{number}.1"]
    cluster.ask(Change(number, "suspend", "ann"))
    cluster.ask(cluster.launcher.ended(f"{number}.1", 0, "stopped"))
    assert names(cluster, attempts) == []
    cluster.ask(Change(number, "resume", "ann"))
    assert names(cluster, attempts) == [f"{number}.2"]


def test_limits_are_those_of_the_job_file_or_of_its_queue(cluster: ScriptedCluster) -> None:
    asks = cluster.submit(1, aggregation={"loss_limit": 0.05, "servers": 2})
    asks_nothing = cluster.submit(1)
    found = [admission_of(cluster.job(it), {"default": 0.2}) for it in (asks, asks_nothing)]
    assert [(it.servers, it.loss_limit) for it in found if it] == [(2, 0.05), (None, 0.2)]
    other = admission_of(cluster.job(asks_nothing), {"other": 0.2})
    assert other is not None
    assert other.loss_limit is None


def test_trainings_of_motet_take_no_part(cluster: ScriptedCluster) -> None:
    assert admission_of(cluster.job(cluster.train()), {}) is None
