"""How the processes of jobs find lenders, and what the journal keeps of what they borrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from motet.live.launcher.messages import StartAttempt
from motet.live.master.facts import MemoryBorrowed, facts_from_json, facts_to_json
from motet.live.master.requests import MemoryAccess, Workplace, requests_of_job
from motet.remote_memory.device.lender_access import LenderAccess, job_variables
from scripted_cluster import ScriptedCluster

SECRET = bytes(range(32))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path)
    yield found
    found.close()


def variables(cluster: ScriptedCluster, job: int, lends: bool = True) -> Mapping[str, str]:
    """Those of rank 0."""
    access = MemoryAccess(cluster.folder / "lenders.json", SECRET) if lends else None
    workplace = Workplace(cluster.folder, {}, memory=access)
    request = requests_of_job(cluster.master.state, cluster.job(job), workplace)[0]
    assert isinstance(request, StartAttempt)
    return request.ranks[0].env


def test_every_job_gets_the_address_and_a_secret_of_its_attempt(cluster: ScriptedCluster) -> None:
    for job in (cluster.submit(1), cluster.train()):
        found = variables(cluster, job)
        name = f"{found['MOTET_RUN_ID']}.1"
        expected = job_variables(cluster.folder / "lenders.json", SECRET, name)
        assert expected.items() <= found.items()
        assert LenderAccess.of_environment(found) is not None
        assert SECRET.hex() not in found.values(), "the lenders' own secret is for no job"


def test_lenders_that_the_user_names_count_and_without_any_there_are_none(
    cluster: ScriptedCluster,
) -> None:
    own, other = cluster.submit(1, envs={"MOTET_MEMORY": "/mine"}), cluster.submit(1)
    assert variables(cluster, own)["MOTET_MEMORY"] == "/mine"
    assert "MOTET_MEMORY_SECRET" not in variables(cluster, own)
    assert "MOTET_MEMORY" not in variables(cluster, other, lends=False)


def test_borrowed_memory_is_kept_by_attempt_and_lender(cluster: ScriptedCluster) -> None:
    job = cluster.submit(1)
    cluster.ask(MemoryBorrowed(job, 1, {"0": 5, "1": 7}))
    cluster.ask(cluster.launcher.ended(f"{job}.1"))
    cluster.ask(MemoryBorrowed(job, 1, {"1": 9}))
    assert cluster.job(job).attempts[0].borrowed_byte_s_sum == 14
    cluster.begin()
    assert cluster.job(job).attempts[0].borrowed_byte_s == {"0": 5, "1": 9}


def test_what_is_known_is_not_recorded_again(cluster: ScriptedCluster) -> None:
    job = cluster.submit(1)
    cluster.ask(MemoryBorrowed(job, 1, {"0": 5}))
    cluster.master.take_steps()
    cluster.ask(MemoryBorrowed(job, 1, {"0": 5}))
    assert [fact for step in cluster.master.take_steps() for fact in step.facts] == []


def test_the_fact_can_be_read_back() -> None:
    fact = MemoryBorrowed(3, 1, {"0": 5})
    assert facts_from_json(facts_to_json([fact])) == [fact]
