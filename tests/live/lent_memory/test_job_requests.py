"""What lenders are told of the jobs: requests by machine, and who may borrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.live.lent_memory.job_requests import JobRequests
from motet.live.master.requests import Workplace, requests_of_job
from motet.remote_memory.wire.memory_views import LendingTerms
from scripted_cluster import ScriptedCluster

MB = 1_000_000


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path)
    yield found
    found.close()


@pytest.fixture
def requests(cluster: ScriptedCluster) -> JobRequests:
    return JobRequests(Workplace(cluster.folder, {}))


def follow(requests: JobRequests, cluster: ScriptedCluster, *jobs: int) -> bool:
    return requests.follow(cluster.master.state, [cluster.job(job) for job in jobs])


def test_a_job_requests_its_memory_as_soon_as_it_is_placed(
    cluster: ScriptedCluster, requests: JobRequests
) -> None:
    job = cluster.submit(2, memory=5 * MB)
    assert follow(requests, cluster, job)
    attempt = cluster.job(job).attempts[0]
    machines = [name for name, _ in cluster.master.state.machines_of(attempt)]
    terms = [requests.terms().of(name) for name in machines]
    sizes = [size for each in terms for size in each.requests.values()]
    assert sizes == [5 * MB] * 2
    folder = cluster.folder / "attempts" / str(job) / "1"
    names = {name for each in terms for name in each.requests}
    assert names == {str(folder / "rank-0"), str(folder / "rank-1")}
    assert requests.terms().of("another").requests == {}
    assert {each.jobs for each in terms} == {(name,) for name in requests.terms().attempts}


def test_the_name_of_a_job_is_that_of_its_variables(
    cluster: ScriptedCluster, requests: JobRequests
) -> None:
    job = cluster.submit(1)
    follow(requests, cluster, job)
    start = requests_of_job(cluster.master.state, cluster.job(job), Workplace(cluster.folder, {}))[
        0
    ]
    run = start.ranks[0].env["MOTET_RUN_ID"]  # type: ignore[union-attr]
    assert dict(requests.terms().attempts) == {f"{run}.1": (job, 1)}


def test_a_job_without_a_request_may_borrow_and_requests_nothing(
    cluster: ScriptedCluster, requests: JobRequests
) -> None:
    follow(requests, cluster, cluster.submit(1))
    terms = requests.terms().of("m0")
    assert (dict(terms.requests), len(terms.jobs)) == ({}, 1)


def test_nothing_is_left_of_a_job_that_has_ended(
    cluster: ScriptedCluster, requests: JobRequests
) -> None:
    job = cluster.submit(1, memory=5 * MB)
    follow(requests, cluster, job)
    assert not follow(requests, cluster, job), "lenders know it"
    cluster.ask(cluster.launcher.started(f"{job}.1"))
    assert not follow(requests, cluster, job)
    cluster.ask(cluster.launcher.ended(f"{job}.1"))
    assert follow(requests, cluster, job)
    assert requests.terms().of("m0") == LendingTerms()
