"""Trainings that share machines under the master: their processes, their profiles, their groups."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from motet.domain.errors import BadInput
from motet.domain.estimates import Overlap
from motet.domain.events import DataSizes, Submitted, SubtasksMeasured, event_from_json
from motet.interfaces.server.stories.explanation import explained
from motet.live.jobs.job_state import JobState
from motet.live.launcher.messages import AttemptProgressed, SubtaskReport
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy
from scripted_cluster import ScriptedCluster

CLUSTER = ClusterDeclared(("m0", "m1"), (2, 2))
HARMONY = ChoosePolicy("harmony", {"check_s": "1"})


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path, HARMONY, CLUSTER)
    yield found
    found.close()


def train(cluster: ScriptedCluster) -> int:
    """A training on any number of machines, whose processes run."""
    job = cluster.train(machines="any", epochs=100)
    cluster.handle(cluster.launcher.started(f"{job}.1"))
    return job


def measured(
    job: int,
    comp_s: float,
    comm_s: float,
    machines: int = 1,
    iteration_s: float | None = None,
    epoch: int = 1,
) -> AttemptProgressed:
    """An epoch of the job's first attempt."""
    times = SubtaskReport(machines, comp_s, comm_s, iteration_s)
    return AttemptProgressed(f"{job}.1", float(epoch), ((float(epoch), 5.0),), 1.0, times)


def machines_of(cluster: ScriptedCluster) -> dict[str, list[str]]:
    """The machines of processes of the attempts that have not ended."""
    return {
        attempt: [task.machine for task in request.ranks]
        for attempt, request in cluster.launcher.running.items()
    }


def end_stops(cluster: ScriptedCluster) -> None:
    """Let all attempts that the master stops end, until it stops none any more."""
    while cluster.launcher.stopping:
        attempt = min(cluster.launcher.stopping)
        cluster.ask(cluster.launcher.ended(attempt, 75, "stopped"))


def subtasks_in_journal(cluster: ScriptedCluster) -> list[Any]:
    assert cluster.store is not None
    records = [json.loads(record.events) for record in cluster.store.records()]
    events = [event_from_json(each) for events in records for each in events]
    return [event for event in events if isinstance(event, SubtasksMeasured)]


def test_a_training_on_whole_machines_has_one_process_on_each(tmp_path: Path) -> None:
    cluster = ScriptedCluster(tmp_path, ChoosePolicy("fifo"), CLUSTER)
    cluster.train(machines=2)
    ranks = cluster.launcher.running["1.1"].ranks
    assert [task.machine for task in ranks] == ["m0", "m1"]
    roles = {(task.env["MOTET_WORKERS"], task.env["MOTET_SERVERS"]) for task in ranks}
    assert roles == {("2", "2")}
    folder = tmp_path / "arbiters"
    assert [task.env["MOTET_ARBITER"] for task in ranks] == [f"{folder}/m0", f"{folder}/m1"]
    job = cluster.job(1)
    assert (job.attempts[0].processes, job.ranks_of(job.attempts[0])) == (4, 2)
    cluster.train(workers=2)
    cluster.ask(cluster.launcher.ended("1.1"))
    assert "MOTET_ARBITER" not in cluster.launcher.running["2.1"].ranks[0].env
    cluster.close()


def test_more_trainings_than_machines_share_them_while_they_are_measured(
    cluster: ScriptedCluster,
) -> None:
    for _ in range(3):
        train(cluster)
    assert machines_of(cluster) == {"1.1": ["m0"], "2.1": ["m1"], "3.1": ["m0"]}
    assert {cluster.job(job).state for job in (1, 2, 3)} == {JobState.RUNNING}


def test_measured_trainings_are_grouped_for_the_highest_use_and_continue(
    cluster: ScriptedCluster,
) -> None:
    computing, communicating = train(cluster), train(cluster)
    cluster.handle(measured(computing, 8, 1))
    cluster.handle(measured(communicating, 2, 4))
    cluster.handle()
    assert cluster.launcher.stopping
    cluster.begin()  # The master is killed; the next one finishes the change.
    end_stops(cluster)
    assert machines_of(cluster) == {"1.2": ["m0", "m1"], "2.2": ["m0", "m1"]}
    entry = cluster.master.state.history.of(computing)[-1]
    assert entry.forecast is not None
    assert (entry.forecast.iteration_s, entry.forecast.in_turn_s) == (5.0, 10.0)


def test_profiles_are_in_the_journal(cluster: ScriptedCluster) -> None:
    job = train(cluster)
    cluster.handle(measured(job, 0.5, 0.25))
    cluster.handle(measured(job, 0.5, 0.25))  # Repeated after a restart of the launcher.
    assert subtasks_in_journal(cluster) == [SubtasksMeasured(job, 1, 0.5, 0.25)]


@pytest.mark.parametrize("allows", [True, False])
def test_an_attempt_is_asynchronous_where_gaps_remain_and_its_user_permits_it(
    tmp_path: Path, allows: bool
) -> None:
    policy = ChoosePolicy("harmony", {"check_s": "1", "async_efficiency": "0.95"})
    cluster = ScriptedCluster(tmp_path, policy, CLUSTER)
    job = cluster.train(machines="any", epochs=100, allow_async=allows)
    cluster.handle(cluster.launcher.started(f"{job}.1"))
    cluster.handle(measured(job, 8, 4))
    cluster.handle()
    cluster.begin()  # The master is killed; the next one has the decision from the journal.
    end_stops(cluster)
    assert machines_of(cluster) == {f"{job}.2": ["m0", "m1"]}
    second = cluster.launcher.running[f"{job}.2"].ranks
    wanted = {"async"} if allows else {None}
    assert {task.env.get("MOTET_CONSISTENCY") for task in second} == wanted
    assert cluster.job(job).attempts[-1].is_asynchronous == allows
    cluster.close()


def test_a_training_changes_how_it_trains_on_its_machine_when_others_come_and_go(
    tmp_path: Path,
) -> None:
    """COMP and COMM 5 s of both: beside each other 10 s, alone and asynchronously 5 s."""
    policy = ChoosePolicy("harmony", {"check_s": "1", "async_efficiency": "0.8"})
    cluster = ScriptedCluster(tmp_path, policy, ClusterDeclared(("m0",), (2,)))
    first = cluster.train(machines="any", epochs=100, allow_async=True)
    cluster.handle(cluster.launcher.started(f"{first}.1"))
    cluster.handle(measured(first, 5, 5))
    cluster.handle()
    assert restarted(cluster, first, 2) == "async"
    second = train(cluster)
    cluster.handle(measured(second, 5, 5))
    cluster.handle()
    cluster.begin()  # The master is killed; the next one has the decision from the journal.
    assert restarted(cluster, first, 3) is None
    assert machines_of(cluster) == {f"{first}.3": ["m0"], f"{second}.1": ["m0"]}
    cluster.ask(cluster.launcher.ended(f"{second}.1"))
    cluster.handle()
    assert restarted(cluster, first, 4) == "async"
    cluster.close()


def test_a_training_changes_how_it_trains_again_once_it_has_changed(tmp_path: Path) -> None:
    policy = ChoosePolicy("harmony", {"check_s": "1", "async_efficiency": "0.8"})
    cluster = ScriptedCluster(tmp_path, policy, ClusterDeclared(("m0",), (2,)))
    first = cluster.train(machines="any", epochs=100, allow_async=True)
    cluster.handle(cluster.launcher.started(f"{first}.1"))
    cluster.handle(measured(first, 5, 5))
    cluster.handle()
    (attempt,) = cluster.job(first).attempts
    stopping_us = attempt.stopping_us
    assert stopping_us is not None
    second = train(cluster)
    cluster.handle(measured(second, 5, 5))
    cluster.handle()
    cluster.begin()  # The master is killed; the next one has both decisions from the journal.
    (attempt,) = cluster.job(first).attempts
    assert attempt.stopping_us == stopping_us
    assert restarted(cluster, first, 2) == "async"
    assert restarted(cluster, first, 3) is None
    assert cluster.launcher.stopping == set()
    cluster.close()


def restarted(cluster: ScriptedCluster, job: int, attempt: int) -> str | None:
    """The consistency of an attempt of a job, which the end of the one before lets begin."""
    assert cluster.launcher.stopping == {f"{job}.{attempt - 1}"}
    end_stops(cluster)
    cluster.handle(cluster.launcher.started(f"{job}.{attempt}"))
    (task,) = cluster.launcher.running[f"{job}.{attempt}"].ranks
    return task.env.get("MOTET_CONSISTENCY")


@pytest.mark.parametrize(
    ("keys", "overlap"),
    [
        ({}, Overlap.NEVER),
        ({"allow_async": True}, Overlap.PERMITTED),
        ({"set": {"consistency": "async"}}, Overlap.ALWAYS),
    ],
)
def test_the_engine_is_told_which_trainings_may_overlap(
    cluster: ScriptedCluster, keys: dict[str, Any], overlap: Overlap
) -> None:
    job = cluster.train(machines="any", epochs=100, **keys)
    assert cluster.store is not None
    records = [json.loads(record.events) for record in cluster.store.records()]
    found = [event_from_json(each) for record in records for each in record]
    arrived = [event for event in found if isinstance(event, Submitted) and event.job == job]
    assert [event.data for event in arrived] == [DataSizes(0, 0, overlap)]


def test_a_report_tells_that_comm_ran_beside_comp(cluster: ScriptedCluster) -> None:
    job = train(cluster)
    report = measured(job, 0.5, 0.25)
    assert report.subtasks is not None
    cluster.handle(replace(report, subtasks=replace(report.subtasks, overlaps=True)))
    assert subtasks_in_journal(cluster) == [SubtasksMeasured(job, 1, 0.5, 0.25, overlaps=True)]


@pytest.mark.parametrize(("cpus", "counted_s"), [((1, 1), 0.125), ((1, 4), 0.125), ((4, 4), None)])
def test_cpu_time_outside_of_comp_counts_where_the_machine_has_no_other_core(
    tmp_path: Path, cpus: tuple[int, int], counted_s: float | None
) -> None:
    cluster = ScriptedCluster(tmp_path, HARMONY, replace(CLUSTER, cpus=cpus))
    job = train(cluster)
    assert machines_of(cluster) == {"1.1": ["m0"]}
    report = measured(job, 0.5, 0.25)
    assert report.subtasks is not None
    cluster.handle(replace(report, subtasks=replace(report.subtasks, outside_s=0.125)))
    assert subtasks_in_journal(cluster) == [
        SubtasksMeasured(job, 1, 0.5, 0.25, outside_s=counted_s)
    ]
    cluster.close()


def test_what_sharing_gained_is_explained_also_after_a_restart_of_the_master(
    cluster: ScriptedCluster,
) -> None:
    one, two, three = (train(cluster) for _ in range(3))  # The first and the last share m0.
    cluster.handle(measured(one, 6.0, 2.0, iteration_s=10.0))
    cluster.handle(measured(three, 1.0, 4.0, iteration_s=10.0))
    cluster.begin()
    cluster.handle(measured(one, 6.0, 2.0, iteration_s=12.0, epoch=2))
    story = explained(cluster.master.state, one, cluster.now_us).story
    (found,) = [each.because for each in story.chapters if each.because.event == "measure"]
    assert [other.job for other in found.others] == [str(three)]
    assert found.measured is not None
    assert (found.measured.iteration_s, found.measured.alone_s) == (11.0, 8.0)
    assert (found.measured.jobs, found.measured.work) == (2, pytest.approx(8 / 11 + 5 / 10))
    assert not [each for each in cluster.master.state.history.of(two) if each.measured]


def test_an_epoch_without_comp_is_no_profile(cluster: ScriptedCluster) -> None:
    job = train(cluster)
    cluster.handle(measured(job, 0.0, 0.25))
    assert subtasks_in_journal(cluster) == []
    assert cluster.job(job).progress is not None


def test_a_training_that_raises_no_use_waits_and_takes_the_place_of_one_that_ends(
    cluster: ScriptedCluster,
) -> None:
    jobs = [train(cluster) for _ in range(3)]
    for job, times in zip(jobs, ((8, 1), (2, 4), (2, 4)), strict=True):
        cluster.handle(measured(job, *times))
    for _ in range(3):
        cluster.handle()
        end_stops(cluster)
    assert machines_of(cluster) == {"1.2": ["m0", "m1"], "2.2": ["m0", "m1"]}
    assert cluster.job(3).state is JobState.PREEMPTED
    cluster.handle(cluster.launcher.started("1.2"))
    cluster.handle(cluster.launcher.started("2.2"))
    cluster.handle(cluster.launcher.ended("2.2"))
    assert machines_of(cluster) == {"1.2": ["m0", "m1"], "3.2": ["m0", "m1"]}
    assert cluster.launcher.stopping == set()


def test_the_loss_of_a_training_leaves_those_on_its_machines_alone(
    cluster: ScriptedCluster,
) -> None:
    for _ in range(3):
        train(cluster)
    cluster.handle(cluster.launcher.ended("1.1", None, "lost"))
    cluster.handle()
    assert cluster.launcher.stopping == set()
    assert {"2.1", "3.1"} <= {*machines_of(cluster)}
    cluster.until_started(1)


def test_a_training_beside_them_with_workers_and_servers_has_its_slots_alone(
    cluster: ScriptedCluster,
) -> None:
    train(cluster)
    train(cluster)
    lone = cluster.train(workers=1, servers=1)
    end_stops(cluster)
    cluster.handle(cluster.launcher.started("2.2"))
    cluster.until_started(lone)
    (own,) = {task.machine for task in cluster.launcher.running[f"{lone}.1"].ranks}
    others = {name: each for name, each in machines_of(cluster).items() if name[0] != str(lone)}
    assert {"1", "2"} == {name[0] for name in others}
    assert all(own not in machines for machines in others.values())


@pytest.mark.parametrize("policy", ["fair", "optimus", "slaq", "drf", "themis", "tiresias-las"])
def test_other_policies_run_trainings_on_whole_machines_alone(tmp_path: Path, policy: str) -> None:
    cluster = ScriptedCluster(tmp_path, ChoosePolicy(policy), CLUSTER)
    for _ in range(2):
        cluster.train(machines="any", epochs=100, duration_s=100)
    ended = set()
    for _ in range(100):
        for attempt in sorted(cluster.launcher.running):
            is_stopping = attempt in cluster.launcher.stopping
            if not is_stopping:
                cluster.handle(cluster.launcher.started(attempt))
            cluster.handle(
                cluster.launcher.ended(attempt, 75, "stopped")
                if is_stopping
                else cluster.launcher.ended(attempt)
            )
            ended.add(attempt.partition(".")[0])
        cluster.handle()
    assert {cluster.job(job).state for job in (1, 2)} == {JobState.SUCCEEDED}
    cluster.close()


def test_what_never_fits_is_refused(cluster: ScriptedCluster) -> None:
    with pytest.raises(BadInput, match="slots of its machines: 6, but the cluster has 4 slots"):
        cluster.train(machines=3)
