"""What a preemption cost a job, as far as writes and reports tell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from motet.interfaces.server.views import job_explanation
from motet.live.jobs.attempt import StopCause
from motet.live.launcher.messages import AttemptProgressed, ClusterSeen, MachineSeen
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy
from scripted_cluster import SECOND_US, ScriptedCluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path, ChoosePolicy("tiresias-las", {"thresholds": "10"}))
    yield found
    found.close()


@pytest.fixture
def joined(tmp_path: Path) -> Iterator[ScriptedCluster]:
    """A cluster of one machine that may leave."""
    found = ScriptedCluster(tmp_path, cluster=ClusterDeclared((), (), joins=True))
    found.ask(ClusterSeen((MachineSeen("m1", 2, takes_jobs=True),)))
    yield found
    found.close()


def preempted(cluster: ScriptedCluster, job: int, saved_us: int | None = None) -> tuple[int, int]:
    """Let a job of all slots run for a minute, then another one take them: since when its first
    attempt ran, and was stopped. `saved_us`: as its end records."""
    cluster.ask(cluster.launcher.started(f"{job}.1"))
    cluster.now_us += 60 * SECOND_US
    short = cluster.submit(processes=4)
    cluster.now_us += 4 * SECOND_US
    cluster.ask(cluster.launcher.ended(f"{job}.1", None, "stopped", saved_us=saved_us))
    attempt = cluster.job(job).attempts[0]
    assert attempt.running_us is not None
    assert attempt.stopping_us is not None
    cluster.ask(cluster.launcher.started(f"{short}.1"))
    return attempt.running_us, attempt.stopping_us


def start_again(cluster: ScriptedCluster, job: int) -> None:
    cluster.ask(cluster.launcher.ended(f"{job + 1}.1"))
    cluster.now_us += SECOND_US
    cluster.ask(cluster.launcher.started(f"{job}.2"))


def chapters(cluster: ScriptedCluster, job: int, *writes_us: int) -> dict[str, dict[str, Any]]:
    """Moments by their event, the others by their kind; the first of each."""
    document = job_explanation(cluster.master.state, job, cluster.now_us, writes_us)
    rows = reversed([dict(each) for each in document["chapters"]])
    return {each["event" if each["kind"] == "moment" else "kind"]: each for each in rows}


def preemption(cluster: ScriptedCluster, job: int, *writes_us: int) -> dict[str, Any]:
    return chapters(cluster, job, *writes_us)["preempt"]


def test_the_work_since_the_last_write_and_the_next_start_are_lost(
    cluster: ScriptedCluster,
) -> None:
    job = cluster.submit(processes=4)
    begin_us, end_us = preempted(cluster, job)
    writes_us = begin_us - 1, begin_us + 5 * SECOND_US, end_us - 9 * SECOND_US
    told = preemption(cluster, job, *writes_us)
    assert (told["lost_s"], told["restart_s"]) == (9.0, None)
    assert told["sentence"].endswith("; 9 s of work lost since its last checkpoint")
    start_again(cluster, job)
    told = preemption(cluster, job, *writes_us)
    assert (told["lost_s"], told["restart_s"]) == (9.0, 2.0)
    assert told["sentence"].endswith("since its last checkpoint; 2 s to start again")


def test_without_any_write_all_work_is_lost(cluster: ScriptedCluster) -> None:
    job = cluster.submit(processes=4)
    begin_us, end_us = preempted(cluster, job)
    told = preemption(cluster, job, begin_us - 1)
    assert told["lost_s"] == (end_us - begin_us) / SECOND_US
    assert told["sentence"].endswith("of work lost, all since its start")


def test_no_more_work_is_lost_than_the_job_is_said_to_have_run(cluster: ScriptedCluster) -> None:
    """Its processes take 5 s to stop."""
    job = cluster.submit(processes=4)
    begin_us, _ = preempted(cluster, job)
    ran, moment = chapters(cluster, job, begin_us - 1)["run"], preemption(cluster, job)
    assert ran["sentence"].startswith("ran 1 min 2 s: ")
    assert moment["lost_s"] == 61.0


def test_the_wait_for_processes_on_a_lost_machine_is_no_work(joined: ScriptedCluster) -> None:
    job = joined.submit(processes=2)
    joined.ask(joined.launcher.started(f"{job}.1"))
    joined.now_us += 60 * SECOND_US
    saved_us = joined.now_us
    joined.ask(ClusterSeen(()))
    joined.now_us += 78 * SECOND_US
    joined.ask(joined.launcher.ended(f"{job}.1", None, "lost", saved_us=saved_us))
    evicted = chapters(joined, job)["evict"]
    assert joined.job(job).attempts[0].stop_cause is StopCause.MACHINE_LOST
    assert evicted["lost_s"] == 1.0
    assert evicted["sentence"].endswith("; 1 s of work lost since its last checkpoint")


def test_a_job_that_ended_before_the_signal_reached_it_has_lost_nothing(
    cluster: ScriptedCluster,
) -> None:
    job = cluster.submit(processes=4)
    cluster.ask(cluster.launcher.started(f"{job}.1"))
    cluster.now_us += 60 * SECOND_US
    cluster.submit(processes=4)
    cluster.now_us += SECOND_US
    cluster.ask(cluster.launcher.ended(f"{job}.1"))
    told = preemption(cluster, job)
    assert "lost_s" not in told
    assert "of work lost" not in told["sentence"]


@pytest.mark.parametrize(
    ("saved", "lost_s", "told"),
    [
        (-9, 9.0, "; 9 s of work lost since its last checkpoint"),
        (3, 0.0, "; 0 s of work lost since its last checkpoint"),
        (None, 61.0, "all since its start"),
    ],
)
def test_what_was_lost_stays_known_after_later_checkpoints(
    cluster: ScriptedCluster, saved: int | None, lost_s: float, told: str
) -> None:
    """The end of the attempt has recorded the last checkpoint, or that there was none. `saved`:
    seconds after the request to stop."""
    job = cluster.submit(processes=4)
    stop_us = cluster.now_us + 62 * SECOND_US
    saved_us = 0 if saved is None else stop_us + saved * SECOND_US
    begin_us, _ = preempted(cluster, job, saved_us)
    start_again(cluster, job)
    found = preemption(cluster, job, begin_us - SECOND_US, cluster.now_us)
    assert (found["lost_s"], found["restart_s"]) == (lost_s, 2.0)
    assert told in found["sentence"]


def test_without_a_record_an_overwritten_checkpoint_is_not_known(cluster: ScriptedCluster) -> None:
    job = cluster.submit(processes=4)
    preempted(cluster, job)
    start_again(cluster, job)
    told = preemption(cluster, job, cluster.now_us)
    assert (told["lost_s"], told["restart_s"]) == (None, 2.0)
    assert "work lost" not in told["sentence"]


def test_reports_of_progress_count_as_writes(cluster: ScriptedCluster) -> None:
    job = cluster.train(workers=2, servers=2, epochs=50)
    cluster.ask(cluster.launcher.started(f"{job}.1"))
    cluster.ask(AttemptProgressed(f"{job}.1", 3.0, ((3.0, 0.5),), 1.0))
    reported_us = cluster.now_us
    _, end_us = preempted(cluster, job)
    told = preemption(cluster, job)
    assert told["lost_s"] == (end_us - reported_us) / SECOND_US
    assert told["sentence"].endswith("of work lost since its last report of progress")
