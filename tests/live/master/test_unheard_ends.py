"""Jobs that end while no master runs: what is told of them is when their processes ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.interfaces.forecasts.remaining_work import MeasuredRuns
from motet.interfaces.server.stories.explanation import explained
from motet.interfaces.server.stories.lost_work import LostWork
from motet.interfaces.server.views import job_explanation, job_page
from motet.live.jobs.accounting import accounting_lines
from motet.live.jobs.job import LiveJob
from motet.live.launcher.messages import AttemptEnded, AttemptProposed, RankExit, SizeWish
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy
from motet.live.master.requests import Workplace
from motet.live.read_tables.rows import attempt_row, job_row
from scripted_cluster import SECOND_US, ScriptedCluster

RAN_S, AWAY_S = 30, 170


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path)
    yield found
    found.close()


def ended_unheard(cluster: ScriptedCluster, code: int = 0) -> LiveJob:
    """A job that ran for RAN_S; the master is told AWAY_S after its end."""
    job = cluster.submit(processes=4, retry={"max_attempts": 2})
    cluster.ask(cluster.launcher.started(f"{job}.1"))
    cluster.now_us += (RAN_S + AWAY_S - 1) * SECOND_US
    cluster.begin()
    cluster.now_us -= SECOND_US
    cluster.ask(cluster.launcher.ended(f"{job}.1", code, lasted_s=RAN_S))
    return cluster.job(job)


def test_the_end_is_that_of_the_processes_whatever_the_clocks_of_machines_say(
    cluster: ScriptedCluster,
) -> None:
    """Those of the scripted launcher are 53 years slow."""
    job = ended_unheard(cluster)
    (attempt,) = job.attempts
    assert attempt.running_us is not None
    assert job.ended_us == attempt.ended_us == attempt.running_us + RAN_S * SECOND_US
    assert attempt.freed_us == job.known_end_us == cluster.now_us
    assert attempt.ran_us(cluster.now_us) == RAN_S * SECOND_US


def test_all_views_agree(cluster: ScriptedCluster) -> None:
    job = ended_unheard(cluster)
    state, ended_us = cluster.master.state, job.ended_us
    page = job_page(state, job.number, Workplace(cluster.folder, {}))
    assert page["ended_at"] == page["attempt_list"][0]["ended_at"]
    assert job_row(job).ended_us == attempt_row(job, job.attempts[0]).ended_us == ended_us
    story = explained(state, job.number, cluster.now_us).story
    assert story.record.end_us == ended_us
    assert story.running_us == (ended_us or 0) - job.attempts[0].requested_us
    (line,) = accounting_lines(job, cluster.now_us)
    assert line.split("|")[8] == str(story.running_us // SECOND_US)
    assert MeasuredRuns.of([job], cluster.now_us).worked_us(job) == RAN_S * SECOND_US


def test_a_failed_attempt_ends_before_the_next_one_can_begin(cluster: ScriptedCluster) -> None:
    job = ended_unheard(cluster, code=3)
    first, second = job.attempts
    assert first.running_us is not None
    assert first.ended_us == first.running_us + RAN_S * SECOND_US
    assert second.requested_us == first.freed_us == cluster.now_us
    chapters = job_explanation(cluster.master.state, job.number, cluster.now_us)["chapters"]
    failed = [each["from"] for each in chapters if each["event"] == "attempt"]
    assert failed == [first.ended_us / SECOND_US]
    story = explained(cluster.master.state, job.number, cluster.now_us).story
    assert [each.kind for each in story.chapters if each.kind != "moment"] == ["run", "wait", "run"]
    assert story.waiting_us == {"end_unknown": first.unheard_us}
    assert first.unheard_us > AWAY_S * SECOND_US // 2


def test_a_start_of_which_the_master_never_heard_leaves_the_end_between_request_and_report(
    cluster: ScriptedCluster,
) -> None:
    """The clock of the machine is all there is."""
    for early_s in (-1e6, 2.0, 1e6):
        job = cluster.submit()
        requested_us = cluster.job(job).attempts[0].requested_us
        ended_s = requested_us / SECOND_US + early_s
        cluster.now_us += 9 * SECOND_US
        end = RankExit(0, None, "exited", ended_s - 1, ended_s)
        cluster.ask(AttemptEnded(f"{job}.1", (end,)))
        expected_us = min(max(round(ended_s * SECOND_US), requested_us), cluster.now_us)
        assert cluster.job(job).ended_us == expected_us


def test_another_job_waited_until_the_slots_were_free(cluster: ScriptedCluster) -> None:
    first = cluster.submit(processes=4)
    cluster.ask(cluster.launcher.started(f"{first}.1"))
    second = cluster.submit(processes=4)
    submitted_us = cluster.now_us
    cluster.now_us += (RAN_S + AWAY_S) * SECOND_US
    cluster.ask(cluster.launcher.ended(f"{first}.1", lasted_s=RAN_S))
    heard_us = cluster.now_us
    cluster.ask(cluster.launcher.started(f"{second}.1"))
    story = explained(cluster.master.state, second, cluster.now_us)
    assert story.story.waiting_us == {"too_few_gpus": heard_us - submitted_us}


def test_a_preempted_job_that_had_ended_before_tells_so_in_the_order_of_time(
    tmp_path: Path,
) -> None:
    """The next server preempts it, as it does not know yet that it has ended."""
    cluster = ScriptedCluster(tmp_path, ChoosePolicy("tiresias-las", {"thresholds": "10"}))
    job = cluster.submit(processes=4)
    cluster.ask(cluster.launcher.started(f"{job}.1"))
    cluster.now_us += (RAN_S + AWAY_S) * SECOND_US
    cluster.begin()
    cluster.submit(processes=4)
    assert cluster.job(job).attempts[0].stopping_us is not None
    cluster.ask(cluster.launcher.ended(f"{job}.1", lasted_s=RAN_S))
    ended = cluster.job(job)
    story = explained(cluster.master.state, job, cluster.now_us).story
    assert story.record.end_us == ended.ended_us
    assert story.running_us == (ended.ended_us or 0) - ended.attempts[0].requested_us
    cluster.close()


def test_no_work_is_lost_after_the_end_of_the_processes(tmp_path: Path) -> None:
    cluster = ScriptedCluster(tmp_path, ChoosePolicy("tiresias-las", {"thresholds": "10"}))
    job = cluster.submit(processes=4)
    cluster.ask(cluster.launcher.started(f"{job}.1"))
    cluster.now_us += (RAN_S + AWAY_S) * SECOND_US
    cluster.begin()
    cluster.submit(processes=4)
    cluster.ask(cluster.launcher.ended(f"{job}.1", 3, lasted_s=RAN_S))
    (attempt,) = cluster.job(job).attempts
    lost = LostWork.of(cluster.job(job), attempt, ())
    assert lost is not None
    assert lost.work_us == RAN_S * SECOND_US
    cluster.close()


def test_a_training_that_restarts_smaller_after_late_news_is_explained(tmp_path: Path) -> None:
    """The decision about its next run is logged at the moment of the news."""
    bounds = {"workers": {"min": 1, "max": 6}, "servers": {"min": 1, "max": 2}}
    cluster = ScriptedCluster(tmp_path, cluster=ClusterDeclared(("m0", "m1"), (4, 4)))
    job = cluster.train(auto=True, **bounds)
    cluster.ask(cluster.launcher.started(f"{job}.1"))
    cluster.ask(AttemptProposed(f"{job}.1", SizeWish(1, 4, 2, 0.25)))
    cluster.ask(cluster.launcher.ended(f"{job}.1", 75, "stopped"))
    cluster.ask(cluster.launcher.started(f"{job}.2"))
    cluster.submit(processes=8)
    cluster.now_us += (RAN_S + AWAY_S) * SECOND_US
    cluster.ask(cluster.launcher.ended(f"{job}.2", None, "exited", 9, lasted_s=RAN_S))
    assert [each.processes for each in cluster.job(job).attempts] == [2, 6, 2]
    told = [entry.event for entry in cluster.master.state.history.of(job)]
    assert told[-2:] == ["resume", "keep"]
    assert explained(cluster.master.state, job, cluster.now_us).story.chapters
    cluster.close()
