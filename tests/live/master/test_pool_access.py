"""How the processes of a command find the cluster's pool of Aggregators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from motet.aggregation.wire.job_credentials import JobCredential
from motet.live.launcher.messages import StartAttempt
from motet.live.master.intake import Change
from motet.live.master.requests import PoolAccess, Workplace, requests_of_job
from scripted_cluster import ScriptedCluster

SECRET = bytes(range(32))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path)
    yield found
    found.close()


def variables(cluster: ScriptedCluster, job: int, has_pool: bool = True) -> Mapping[str, str]:
    """Those of rank 0."""
    workplace = Workplace(cluster.folder, {})
    if has_pool:
        workplace = replace(workplace, pool=PoolAccess("/state/pool.json", SECRET))
    request = requests_of_job(cluster.master.state, cluster.job(job), workplace)[0]
    assert isinstance(request, StartAttempt)
    return request.ranks[0].env


def test_a_command_gets_the_address_and_a_secret_of_its_attempt(cluster: ScriptedCluster) -> None:
    job = cluster.submit(1)
    found = variables(cluster, job)
    assert found["MOTET_AGGREGATION"] == "/state/pool.json"
    credential = JobCredential.of_environment(found)
    assert credential == JobCredential.derived(SECRET, f"{found['MOTET_RUN_ID']}.1")
    assert SECRET.hex() not in found.values(), "the pool's own secret is for no job"


def test_the_next_attempt_gets_another_secret(cluster: ScriptedCluster) -> None:
    job = cluster.submit(1)
    first = variables(cluster, job)["MOTET_AGGREGATION_SECRET"]
    assert first == variables(cluster, job)["MOTET_AGGREGATION_SECRET"], "requests are repeated"
    cluster.ask(Change(job, "suspend", "ann"))
    cluster.ask(cluster.launcher.ended(f"{job}.1", 0, "stopped"))
    cluster.ask(Change(job, "resume", "ann"))
    assert variables(cluster, job)["MOTET_AGGREGATION_SECRET"] != first


def test_a_pool_that_the_user_names_counts(cluster: ScriptedCluster) -> None:
    job = cluster.submit(1, envs={"MOTET_AGGREGATION": "/mine/pool.json"})
    found = variables(cluster, job)
    assert found["MOTET_AGGREGATION"] == "/mine/pool.json"
    assert "MOTET_AGGREGATION_SECRET" not in found


def test_without_a_pool_and_for_trainings_of_motet_there_is_none(cluster: ScriptedCluster) -> None:
    command, training = cluster.submit(1), cluster.train()
    assert "MOTET_AGGREGATION" not in variables(cluster, command, has_pool=False)
    assert "MOTET_AGGREGATION" not in variables(cluster, training)
