"""Elastic commands under the master: their processes run on when others join or leave."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.domain.units import NEVER_US
from motet.live.jobs.attempt import StopCause
from motet.live.jobs.job_state import JobState
from motet.live.launcher.messages import StartAttempt
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import Change, ChoosePolicy
from motet.live.slots.slot_history import SlotHolding
from scripted_cluster import ScriptedCluster

FAIR = ChoosePolicy("fair")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path, FAIR)
    yield found
    found.close()


def run_alone(cluster: ScriptedCluster) -> StartAttempt:
    """Job 1 holds all four slots; its request."""
    assert cluster.submit(processes=4, min_processes=1) == 1
    cluster.ask(cluster.launcher.started("1.1"))
    return cluster.launcher.running["1.1"]


def shrink(cluster: ScriptedCluster) -> StartAttempt:
    """Job 2 needs two of the slots of job 1; the changed request of job 1."""
    cluster.submit(processes=2)
    return cluster.launcher.running["1.1"]


def shrink_and_grow(cluster: ScriptedCluster) -> StartAttempt:
    """Job 1 gets slots again after job 2 has ended; the changed request of job 1."""
    run_alone(cluster)
    shrink(cluster)
    cluster.ask(cluster.launcher.resized("1.1"))
    cluster.ask(cluster.launcher.started("2.1"))
    cluster.ask(cluster.launcher.ended("2.1"))
    return cluster.launcher.running["1.1"]


def test_processes_leave_for_another_job_while_the_first_run_on(cluster: ScriptedCluster) -> None:
    before = run_alone(cluster)
    request = shrink(cluster)
    assert request.ranks == before.ranks
    assert request.dismissed == (2, 3)
    assert not cluster.launcher.stopping
    assert "2.1" not in cluster.launcher.running
    cluster.ask(cluster.launcher.resized("1.1"))
    assert "2.1" in cluster.launcher.running
    job = cluster.job(1)
    assert job.state is JobState.RUNNING
    assert [(each.processes, each.began, each.stop_cause) for each in job.attempts] == [
        (4, 1, StopCause.RESIZED),
        (2, 1, None),
    ]


def test_processes_join_with_new_ranks_when_slots_are_free(cluster: ScriptedCluster) -> None:
    request = shrink_and_grow(cluster)
    assert (len(request.ranks), request.joined, request.dismissed) == (6, 2, (2, 3))
    envs = [request.ranks[rank].env for rank in (0, 5)]
    names = ("RANK", "WORLD_SIZE", "MOTET_FIRST_WORLD_SIZE", "MOTET_ATTEMPT_NUMBER")
    assert [[env[name] for name in names] for env in envs] == [
        ["0", "4", "4", "1"],
        ["5", "6", "4", "1"],
    ]
    cluster.ask(cluster.launcher.resized("1.1"))
    assert cluster.job(1).attempts[-1].processes == 4


def test_a_report_of_an_earlier_size_does_not_end_a_resize(cluster: ScriptedCluster) -> None:
    run_alone(cluster)
    shrink(cluster)
    reported = cluster.launcher.resized("1.1")
    cluster.ask(reported)
    cluster.ask(cluster.launcher.started("2.1"))
    cluster.ask(cluster.launcher.ended("2.1"))
    cluster.ask(reported)
    assert cluster.job(1).attempts[-1].is_resizing


def test_a_new_master_repeats_the_request_of_a_resize(cluster: ScriptedCluster) -> None:
    run_alone(cluster)
    request = shrink(cluster)
    cluster.launcher.running.clear()
    cluster.begin()
    assert cluster.launcher.running["1.1"] == request
    cluster.ask(cluster.launcher.resized("1.1"))
    assert "2.1" in cluster.launcher.running


def test_the_end_after_a_resize_is_that_of_the_job(cluster: ScriptedCluster) -> None:
    run_alone(cluster)
    shrink(cluster)
    cluster.ask(cluster.launcher.resized("1.1"))
    cluster.ask(cluster.launcher.ended("1.1"))
    assert cluster.job(1).state is JobState.SUCCEEDED


def test_a_job_that_is_suspended_while_it_is_resized_begins_anew(cluster: ScriptedCluster) -> None:
    run_alone(cluster)
    shrink(cluster)
    cluster.ask(Change(1, "suspend", "ann"))
    assert cluster.launcher.stopping == {"1.1"}
    cluster.ask(cluster.launcher.ended("1.1", None, "stopped", 15))
    assert cluster.job(1).state is JobState.SUSPENDED
    cluster.ask(Change(1, "resume", "ann"))
    cluster.ask(cluster.launcher.started("2.1"))
    assert len(cluster.launcher.running["1.3"].ranks) == 2


def test_a_job_whose_processes_are_being_started_is_stopped_for_a_resize(
    cluster: ScriptedCluster,
) -> None:
    cluster.submit(processes=4, min_processes=1)
    cluster.submit(processes=2)
    assert cluster.launcher.stopping == {"1.1"}


def test_on_gpus_a_job_is_stopped_for_a_resize(tmp_path: Path) -> None:
    gpus = ClusterDeclared(("m0",), (4,), devices=("0,1,2,3",))
    cluster = ScriptedCluster(tmp_path, FAIR, gpus)
    run_alone(cluster)
    cluster.submit(processes=2)
    assert cluster.launcher.stopping == {"1.1"}
    cluster.close()


def test_bounds_in_the_wrong_order_are_refused(cluster: ScriptedCluster) -> None:
    with pytest.raises(BadInput, match="min_processes is 3, more than processes, 2"):
        cluster.submit(processes=2, min_processes=3)


def test_the_slots_of_every_size_are_held_until_the_next_one(cluster: ScriptedCluster) -> None:
    shrink_and_grow(cluster)
    state = cluster.master.state
    wanted = {
        SlotHolding(str(job.number), each.processes, each.requested_us, each.freed_us)
        for job in state.jobs.values()
        for each in job.attempts
    }
    assert len(wanted) == 4
    assert {*state.slot_history.between(0, NEVER_US)} == wanted
