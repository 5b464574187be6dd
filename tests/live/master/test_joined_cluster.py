"""The master of a cluster that it has joined: machines come, leave, and are out of reach."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.interfaces.server.stories.explanation import why_waiting
from motet.interfaces.server.views import job_explanation, job_line
from motet.live.jobs.attempt import AttemptOutcome
from motet.live.jobs.job_state import JobState
from motet.live.launcher.messages import ClusterSeen, MachineSeen
from motet.live.master.facts import ClusterDeclared
from scripted_cluster import ScriptedCluster


def seen(*names: str, slots: int = 2, closed: str = "") -> ClusterSeen:
    return ClusterSeen(tuple(MachineSeen(name, slots, name != closed) for name in names))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path, cluster=ClusterDeclared((), (), joins=True))
    yield found
    found.close()


def reason(cluster: ScriptedCluster, job: int) -> str:
    return why_waiting(cluster.master.state, cluster.job(job))[0]


def test_jobs_are_accepted_before_the_cluster_answers_and_start_when_it_does(
    cluster: ScriptedCluster,
) -> None:
    job = cluster.submit(processes=3)
    assert (cluster.job(job).state, reason(cluster, job)) == (
        JobState.PENDING,
        "ClusterUnreachable",
    )
    cluster.ask(seen("m1"))
    assert reason(cluster, job) == "InsufficientSlots"
    cluster.ask(seen("m1", "m2"))
    assert cluster.launcher.machines_in_use() == {"m1": 2, "m2": 1}


def test_a_job_that_fits_no_known_machines_is_refused(cluster: ScriptedCluster) -> None:
    cluster.ask(seen("m1"))
    with pytest.raises(BadInput, match="the cluster has 2 slots"):
        cluster.submit(processes=3)


def test_a_job_of_a_lost_machine_waits_until_its_processes_are_certainly_dead(
    cluster: ScriptedCluster,
) -> None:
    cluster.ask(seen("m1", "m2"))
    job = cluster.submit(processes=3, retry={"max_attempts": 1})
    cluster.ask(cluster.launcher.started("1.1"))
    cluster.ask(seen("m1", "m3"))
    assert cluster.launcher.stopping == {"1.1"}
    assert set(cluster.launcher.running) == {"1.1"}
    state = cluster.master.state
    listed, told = job_line(state, cluster.job(job)), job_explanation(state, job, cluster.now_us)
    assert listed["reason"] == told["reason"] == "MachineLost"
    assert listed["message"] == told["message"]
    assert told["message"].startswith("it has lost m2: it gets slots again when its processes")
    assert told["advice"].startswith("nothing to do: processes that cannot be reached")
    cluster.ask(cluster.launcher.ended("1.1", None, "lost"))
    assert job_line(state, cluster.job(job))["reason"] == ""
    first = cluster.job(job).attempts[0]
    assert (first.outcome, first.reason) == (AttemptOutcome.LOST, "lost m2")
    assert cluster.launcher.machines_in_use() == {"m1": 2, "m3": 1}


@pytest.mark.parametrize("restarts", [False, True])
def test_a_job_whose_lease_ended_before_its_machine_was_lost_keeps_its_reason(
    cluster: ScriptedCluster, restarts: bool
) -> None:
    cluster.ask(seen("m1", "m2"))
    job = cluster.submit(processes=3)
    cluster.ask(cluster.launcher.started("1.1"))
    cluster.ask(seen("m1", "m2", closed="m2"))
    cluster.ask(cluster.launcher.ended("1.1", None, "lost"))
    if restarts:
        cluster.begin()
    cluster.ask(seen("m1"))
    assert reason(cluster, job) == "MachinesDrained"


def test_jobs_that_wait_for_a_machine_that_is_gone_are_told_how_it_comes_back(
    cluster: ScriptedCluster,
) -> None:
    cluster.ask(seen("m1", "m2"))
    cluster.ask(seen("m1"))
    job = cluster.submit(processes=3)
    told = job_explanation(cluster.master.state, job, cluster.now_us)
    assert told["reason"] == "MachinesDrained"
    assert "gone ones after motet machine join on them" in told["advice"]
    assert told["advice"].endswith("; or ask for fewer slots")


def test_a_machine_that_returns_takes_jobs_again(cluster: ScriptedCluster) -> None:
    cluster.ask(seen("m1"))
    cluster.ask(seen())
    cluster.submit(processes=2)
    assert cluster.launcher.machines_in_use() == {}
    cluster.ask(seen("m1"))
    assert cluster.launcher.machines_in_use() == {"m1": 2}


def test_a_machine_that_returns_with_other_slots_takes_no_jobs(cluster: ScriptedCluster) -> None:
    cluster.ask(seen("m1"))
    cluster.ask(seen())
    cluster.ask(seen("m1", slots=4))
    cluster.submit(processes=2)
    assert cluster.launcher.machines_in_use() == {}


def test_jobs_run_on_while_the_cluster_is_out_of_reach_and_others_wait(
    cluster: ScriptedCluster,
) -> None:
    cluster.ask(seen("m1"))
    runs = cluster.submit(processes=1)
    cluster.ask(cluster.launcher.started("1.1"))
    cluster.ask(ClusterSeen((), "nothing listens there"))
    waits = cluster.submit(processes=1)
    assert (cluster.job(runs).state, cluster.launcher.stopping) == (JobState.RUNNING, set())
    assert reason(cluster, waits) == "ClusterUnreachable"
    assert cluster.job(waits).state is JobState.PENDING
    cluster.ask(seen("m1"))
    assert cluster.job(waits).state is JobState.STARTING


def test_a_drained_machine_takes_no_further_jobs(cluster: ScriptedCluster) -> None:
    cluster.ask(seen("m1", "m2", closed="m2"))
    cluster.submit(processes=1)
    cluster.submit(processes=2)
    assert cluster.launcher.machines_in_use() == {"m1": 1}


def test_a_killed_master_knows_the_machines_again(cluster: ScriptedCluster) -> None:
    cluster.ask(seen("m1", "m2"))
    cluster.submit(processes=4)
    cluster.ask(seen("m1"))
    before = cluster.master.state
    cluster.begin()
    after = cluster.master.state
    assert (after.cluster, after.conditions, after.refusal) == (
        before.cluster,
        ["up", "gone"],
        "",
    )
    assert after.jobs == before.jobs
