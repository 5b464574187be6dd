"""Trainings under the master: their gangs, what they report, and when they begin again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import least_work_policy
from motet.domain.errors import BadInput
from motet.domain.events import ProgressMeasured, Resized, SpeedMeasured, event_from_json
from motet.live.jobs.attempt import StopCause
from motet.live.jobs.job import ReportedProgress
from motet.live.jobs.job_file import job_spec
from motet.live.jobs.job_state import JobState
from motet.live.launcher.messages import AttemptProgressed, ExitReason
from motet.live.master.intake import Change, ChoosePolicy
from scripted_cluster import ScriptedCluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path)
    yield found
    found.close()


def recorded(cluster: ScriptedCluster, *kinds: type) -> list[Any]:
    """Events of these kinds in the journal."""
    assert cluster.store is not None
    records = [json.loads(record.events) for record in cluster.store.records()]
    events = [event_from_json(each) for events in records for each in events]
    return [event for event in events if isinstance(event, kinds)]


def test_every_worker_and_server_is_a_process_of_the_gang(cluster: ScriptedCluster) -> None:
    cluster.train(workers=2, servers=1, set={"l2": 0.001}, envs={"A": "1"})
    ranks = cluster.launcher.running["1.1"].ranks
    assert [task.machine for task in ranks] == ["m0", "m0", "m1"]
    assert {task.argv[:2] for task in ranks} == {("python", "train")}
    spec = job_spec(json.loads(ranks[0].argv[2]))
    assert spec == cluster.job(1).spec
    first = ranks[0].env
    assert (first["MOTET_WORKERS"], first["MOTET_SERVERS"], first["MOTET_RANK"]) == ("2", "1", "0")
    assert first["MOTET_ATTEMPT_DIR"] == str(cluster.folder / "attempts" / "1" / "1")
    assert first["MOTET_RESULTS_DIR"] == str(cluster.folder / "results" / "1")
    assert (first["PYTHONPATH"], first["A"], first["PATH"]) == ("/motet", "1", "/bin")


def test_a_training_that_needs_more_slots_than_there_are_is_refused(
    cluster: ScriptedCluster,
) -> None:
    with pytest.raises(BadInput, match="workers \\+ servers: 5, but the cluster has 4 slots"):
        cluster.train(workers=3, servers=2)


def test_progress_becomes_events_of_the_engine_once(cluster: ScriptedCluster) -> None:
    cluster.train(workers=2, servers=1, epochs=10)
    cluster.ask(cluster.launcher.started("1.1"))
    cluster.ask(AttemptProgressed("1.1", 2.0, ((1.0, 0.9), (2.0, 0.5)), 4.0))
    cluster.begin()
    again = AttemptProgressed("1.1", 3.0, ((1.0, 0.9), (2.0, 0.5), (3.0, 0.4)), 5.0)
    cluster.handle(again, again, AttemptProgressed("1.1", 2.0, ((2.0, 0.5),), 4.0))
    assert cluster.job(1).progress == ReportedProgress(3.0, 0.4)
    assert recorded(cluster, ProgressMeasured, SpeedMeasured) == [
        ProgressMeasured(1, 2.0, ((1.0, 0.9), (2.0, 0.5))),
        SpeedMeasured(1, 2, 1, 4.0),
        ProgressMeasured(1, 3.0, ((3.0, 0.4),)),
        SpeedMeasured(1, 2, 1, 5.0),
    ]


def test_losses_that_a_recovery_reports_again_are_taken_once_and_in_order(
    cluster: ScriptedCluster,
) -> None:
    """Ten steps, a recovery to the eighth and the ninth were reported before the launcher looked:
    the loss of the tenth comes again."""
    cluster.train(workers=2, servers=1, epochs=20)
    cluster.ask(cluster.launcher.started("1.1"))
    losses = [(float(step), 1.0 / step) for step in range(1, 11)]
    cluster.ask(AttemptProgressed("1.1", 5.0, tuple(losses[:5]), 0.0))
    cluster.ask(AttemptProgressed("1.1", 9.0, (*losses[5:], losses[8]), 0.0))
    cluster.ask(AttemptProgressed("1.1", 10.0, (losses[9],), 0.0))
    assert cluster.job(1).progress == ReportedProgress(10.0, 0.1)
    measured = recorded(cluster, ProgressMeasured)
    assert [point for each in measured for point in each.points] == losses


def test_a_training_that_finishes_while_it_is_stopped_does_not_begin_again(
    cluster: ScriptedCluster,
) -> None:
    """The signal came when it had trained all epochs, and was evaluating its model."""
    cluster.train(workers=2, servers=1, epochs=10)
    cluster.ask(cluster.launcher.started("1.1"))
    cluster.ask(Change(1, "suspend", "ann"))
    assert cluster.launcher.stopping == {"1.1"}
    cluster.ask(cluster.launcher.ended("1.1", 0, "stopped"))
    assert cluster.job(1).state is JobState.SUCCEEDED
    cluster.begin()
    assert cluster.job(1).state is JobState.SUCCEEDED
    assert cluster.launcher.running == {}


def test_epochs_that_are_trained_again_are_no_progress(cluster: ScriptedCluster) -> None:
    cluster.train(workers=1, servers=1, epochs=10)
    cluster.ask(AttemptProgressed("1.1", 3.0, ((1.0, 3.0), (2.0, 2.0), (3.0, 1.0))))
    cluster.ask(cluster.launcher.ended("1.1", None, "lost"))
    cluster.ask(AttemptProgressed("1.2", 2.0, ((1.0, 3.0), (2.0, 2.0))))
    assert cluster.job(1).progress == ReportedProgress(3.0, 1.0)
    cluster.ask(AttemptProgressed("1.2", 4.0, ((3.0, 1.0), (4.0, 0.5))))
    assert cluster.job(1).progress == ReportedProgress(4.0, 0.5)
    assert recorded(cluster, ProgressMeasured)[-1] == ProgressMeasured(1, 4.0, ((4.0, 0.5),))


def test_reports_of_a_job_that_was_cancelled_change_nothing(cluster: ScriptedCluster) -> None:
    cluster.train()
    late = cluster.launcher.started("1.1")
    cluster.ask(cluster.launcher.ended("1.1"))
    cluster.handle(late, AttemptProgressed("1.1", 3.0, ((3.0, 1.0),)))
    assert cluster.job(1).state is JobState.SUCCEEDED
    assert cluster.job(1).progress is None


def test_a_killed_process_uses_up_no_retry(cluster: ScriptedCluster) -> None:
    job = cluster.train()
    for number in range(1, 4):
        cluster.ask(cluster.launcher.ended(f"1.{number}", None, "exited", signal=9))
        cluster.until_started(job)
    assert cluster.job(job).state is JobState.STARTING
    reasons = [each.reason for each in cluster.job(job).attempts]
    assert reasons == ["process 0 was killed by signal 9"] * 3 + [""]
    assert cluster.job(job).reason == ""  # It is the attempt's.
    cluster.ask(cluster.launcher.ended("1.4"))
    assert (cluster.job(job).state, cluster.job(job).reason) == (JobState.SUCCEEDED, "")


def test_a_training_that_fails_by_itself_has_failed(cluster: ScriptedCluster) -> None:
    job = cluster.train()
    cluster.ask(cluster.launcher.ended("1.1", 1))
    assert cluster.job(job).state is JobState.FAILED


def test_policies_see_what_trainings_have_reported(tmp_path: Path) -> None:
    cluster = ScriptedCluster(tmp_path, ChoosePolicy(str(Path(least_work_policy.__file__))))
    long = cluster.train(workers=3, servers=1, epochs=100)
    cluster.ask(cluster.launcher.started("1.1"))
    cluster.ask(AttemptProgressed("1.1", 95.0, ((94.0, 0.9), (95.0, 0.8))))
    cluster.train(workers=3, servers=1, epochs=10)
    assert cluster.launcher.stopping == set()  # Five epochs are left of the first one.
    cluster.train(workers=3, servers=1, epochs=4)
    assert cluster.launcher.stopping == {"1.1"}
    cluster.begin()
    cluster.ask(cluster.launcher.ended("1.1", 75, "stopped"))
    assert cluster.job(long).state is JobState.PREEMPTED
    assert {*cluster.launcher.running} == {"3.1"}
    cluster.close()


ELASTIC = {"workers": {"min": 1, "max": 3}, "servers": 1}


def gangs(cluster: ScriptedCluster) -> dict[str, tuple[int, int]]:
    """Workers and servers of the gangs that were started, as their processes see them."""
    found = {}
    for attempt, request in cluster.launcher.running.items():
        environment = request.ranks[0].env
        roles = int(environment["MOTET_WORKERS"]), int(environment["MOTET_SERVERS"])
        assert sum(roles) == len(request.ranks)
        found[attempt] = roles
    return found


def test_two_elastic_trainings_share_the_slots_and_one_grows_when_the_other_ends(
    tmp_path: Path,
) -> None:
    cluster = ScriptedCluster(tmp_path, ChoosePolicy("fair"))
    one = cluster.train(**ELASTIC)
    cluster.ask(cluster.launcher.started("1.1"))
    assert gangs(cluster) == {"1.1": (3, 1)}
    two = cluster.train(**ELASTIC)
    assert cluster.launcher.stopping == {"1.1"}
    assert cluster.job(two).state is JobState.PENDING
    cluster.begin()
    cluster.ask(cluster.launcher.ended("1.1", 75, "stopped"))
    assert gangs(cluster)["1.2"] == (1, 1)
    cluster.ask(cluster.launcher.started("1.2"))
    cluster.handle()
    assert gangs(cluster) == {"1.2": (1, 1), "2.1": (1, 1)}
    cluster.handle(cluster.launcher.started("2.1"))
    cluster.ask(cluster.launcher.ended("2.1"))
    assert cluster.launcher.stopping == {"1.2"}
    cluster.ask(cluster.launcher.ended("1.2", 75, "stopped"))
    assert gangs(cluster) == {"1.3": (3, 1)}
    cluster.ask(cluster.launcher.started("1.3"))
    causes = [attempt.stop_cause for attempt in cluster.job(one).attempts]
    assert causes == [StopCause.RESIZED, StopCause.RESIZED, None]
    assert [event.job for event in recorded(cluster, Resized)] == [one, one]
    cluster.ask(cluster.launcher.ended("1.3"))
    assert cluster.job(one).state is JobState.SUCCEEDED
    cluster.close()


@pytest.mark.parametrize("moment", ["stopping", "starting"])
def test_a_training_that_is_lost_while_it_is_resized_continues(tmp_path: Path, moment: str) -> None:
    cluster = ScriptedCluster(tmp_path, ChoosePolicy("fair"))
    one, two = cluster.train(**ELASTIC), 2
    cluster.ask(cluster.launcher.started("1.1"))
    cluster.train(**ELASTIC)
    if moment == "stopping":
        cluster.ask(cluster.launcher.ended("1.1", None, "lost"))
    else:
        cluster.ask(cluster.launcher.ended("1.1", 75, "stopped"))
        cluster.begin()
        cluster.ask(cluster.launcher.ended("1.2", None, "lost"))
    while cluster.launcher.running:
        attempt = min(cluster.launcher.running)
        is_stopping = attempt in cluster.launcher.stopping
        cluster.ask(cluster.launcher.started(attempt))
        reason: ExitReason = "stopped" if is_stopping else "exited"
        cluster.ask(cluster.launcher.ended(attempt, 75 if is_stopping else 0, reason))
    assert {cluster.job(job).state for job in (one, two)} == {JobState.SUCCEEDED}
    cluster.close()


def test_a_policy_that_does_not_resize_gives_an_elastic_training_all_that_it_can_use(
    cluster: ScriptedCluster,
) -> None:
    cluster.train(workers={"min": 1, "max": 50}, servers={"min": 1, "max": 2})
    assert gangs(cluster) == {"1.1": (2, 2)}
    with pytest.raises(BadInput, match="the cluster has 4 slots"):
        cluster.train(workers={"min": 4, "max": 5})
