"""Machines drained by users, at once or later, and by failures in a row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.domain.errors import BadInput, UnknownName
from motet.domain.log_entry import LogEntry
from motet.interfaces.server.machine_routes import machines_document
from motet.interfaces.server.stories.explanation import why_waiting
from motet.live.jobs.job_state import JobState
from motet.live.launcher.messages import ClusterSeen, MachineSeen
from motet.live.master.cluster_changes import DrainMachine, ResumeMachine
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy
from scripted_cluster import SECOND_US, ScriptedCluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path)
    yield found
    found.close()


def drain(cluster: ScriptedCluster, name: str, in_s: int | None = None) -> None:
    from_us = None if in_s is None else cluster.now_us + in_s * SECOND_US
    cluster.ask(DrainMachine(name, "new disk", "ann", from_us))


def states(cluster: ScriptedCluster) -> list[str]:
    return [each["state"] for each in machines_document(cluster.master.state)["machines"]]


def lose(cluster: ScriptedCluster, job: int) -> None:
    """A process of the present attempt is lost."""
    cluster.until_started(job)
    attempt = f"{job}.{len(cluster.job(job).attempts)}"
    cluster.ask(cluster.launcher.ended(attempt, None, "lost"))


def test_a_drained_machine_keeps_its_jobs_and_takes_no_others(cluster: ScriptedCluster) -> None:
    first = cluster.submit(processes=2)
    drain(cluster, "m0")
    assert states(cluster) == ["DRAINING", "UP"]
    others = [cluster.submit() for _ in range(3)]
    assert cluster.launcher.machines_in_use() == {"m0": 2, "m1": 2}
    cluster.ask(cluster.launcher.ended(f"{first}.1"))
    assert states(cluster) == ["DRAINED", "UP"]
    assert cluster.job(others[-1]).state is JobState.PENDING
    cluster.replay()
    assert states(cluster) == ["DRAINED", "UP"]
    cluster.ask(ResumeMachine("m0", "ann"))
    assert cluster.job(others[-1]).state is JobState.STARTING


@pytest.mark.parametrize("policy", ["srtf", "sf", "tiresias-las", "optimus", "slaq"])
def test_jobs_of_a_draining_machine_are_preempted_for_nobody(tmp_path: Path, policy: str) -> None:
    cluster = ScriptedCluster(tmp_path, ChoosePolicy(policy))
    first, second = (cluster.submit(processes=2, duration_s=300) for _ in range(2))
    cluster.until_started(second)
    drain(cluster, "m1")
    small = cluster.submit(duration_s=3)
    stops = {each.job for each in taken_away(cluster)}
    assert stops <= {first}
    assert all(each.others.total for each in taken_away(cluster))
    if stops:
        cluster.ask(cluster.launcher.ended(f"{first}.1", None, "stopped"))
        assert cluster.job(small).attempt is not None
    drain(cluster, "m0")
    larger = cluster.submit(processes=2, duration_s=3)
    reason, sentence = why_waiting(cluster.master.state, cluster.job(larger))
    assert reason == "MachinesDrained"
    assert "4 of 4 slots are on machines that are drained, closed or gone" in sentence
    assert {each.job for each in taken_away(cluster)} == stops
    cluster.close()


def taken_away(cluster: ScriptedCluster) -> list[LogEntry]:
    """Preemptions of all jobs so far."""
    history, jobs = cluster.master.state.history, cluster.master.state.jobs
    return [each for job in jobs for each in history.of(job) if each.event == "preempt"]


def test_a_planned_drain_begins_at_its_time_though_the_master_was_restarted(
    cluster: ScriptedCluster,
) -> None:
    drain(cluster, "m0", in_s=100)
    assert states(cluster) == ["UP", "UP"]
    cluster.begin()
    due_us = cluster.master.recheck_at_us
    assert cluster.now_us < due_us <= cluster.now_us + 100 * SECOND_US
    cluster.now_us = due_us - SECOND_US
    cluster.handle()
    assert states(cluster) == ["DRAINED", "UP"]
    cluster.submit(processes=2)
    assert cluster.launcher.machines_in_use() == {"m1": 2}


def test_a_planned_drain_can_be_cancelled(cluster: ScriptedCluster) -> None:
    drain(cluster, "m0", in_s=5)
    cluster.ask(ResumeMachine("m0", "ann"))
    cluster.now_us += 10 * SECOND_US
    cluster.handle()
    assert states(cluster) == ["UP", "UP"]


def test_wrong_drains_are_refused(cluster: ScriptedCluster) -> None:
    with pytest.raises(UnknownName, match=r"unknown machine 'm7'; .*m0"):
        drain(cluster, "m7")
    with pytest.raises(BadInput, match="the time of the drain has passed"):
        drain(cluster, "m0", in_s=-5)
    with pytest.raises(BadInput, match="m0 is not drained"):
        cluster.ask(ResumeMachine("m0", "ann"))


def test_a_machine_that_comes_back_to_a_joined_cluster_stays_drained(tmp_path: Path) -> None:
    cluster = ScriptedCluster(tmp_path, cluster=ClusterDeclared((), (), joins=True))
    both = ClusterSeen((MachineSeen("m0", 2, True), MachineSeen("m1", 2, True)))
    cluster.ask(both)
    drain(cluster, "m0")
    cluster.ask(ClusterSeen(both.machines[1:]))
    assert states(cluster) == ["GONE", "UP"]
    cluster.ask(both)
    assert states(cluster) == ["DRAINED", "UP"]
    cluster.submit(processes=2)
    assert cluster.launcher.machines_in_use() == {"m1": 2}
    cluster.ask(ResumeMachine("m0", "ann"))
    cluster.submit(processes=2)
    assert cluster.launcher.machines_in_use() == {"m0": 2, "m1": 2}
    cluster.close()


def test_failures_in_a_row_drain_a_machine_but_not_the_last_one(tmp_path: Path) -> None:
    cluster = ScriptedCluster(tmp_path)
    cluster.master.state.drain_after = 3
    job = cluster.submit(processes=2)
    for _ in range(3):
        assert states(cluster) == ["UP", "UP"]
        lose(cluster, job)
    assert states(cluster) == ["DRAINED", "UP"]
    reason = cluster.master.state.drains.of["m0"].reason
    assert reason == (
        "3 failures of the infrastructure in a row, the last one: job 1: process 0 was lost: its "
        "shepherd was killed"
    )
    for _ in range(4):
        lose(cluster, job)
    assert states(cluster) == ["DRAINED", "UP"]
    cluster.close()


def test_a_success_between_failures_begins_a_new_row(tmp_path: Path) -> None:
    cluster = ScriptedCluster(tmp_path, cluster=ClusterDeclared(("m0", "m1"), (1, 1)))
    cluster.master.state.drain_after = 3
    job = cluster.submit()
    lose(cluster, job)
    lose(cluster, job)
    cluster.until_started(job)
    cluster.ask(cluster.launcher.ended(f"{job}.3"))
    other = cluster.submit()
    lose(cluster, other)
    lose(cluster, other)
    assert states(cluster) == ["UP", "UP"]
    lose(cluster, other)
    assert states(cluster) == ["DRAINED", "UP"]
    cluster.close()
