"""Explanations of live jobs: the reasons of waits, places and times, before and after a crash."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.domain.errors import NotFound
from motet.insight.job_story import JobStory
from motet.insight.wording import in_slots
from motet.interfaces.server.explanation import explained, why_waiting
from motet.live.jobs.job_state import JobState
from motet.live.master.intake import Change, ChoosePolicy
from scripted_cluster import SECOND_US, ScriptedCluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path)
    yield found
    found.close()


def story_of(cluster: ScriptedCluster, job: int) -> JobStory:
    return explained(cluster.master.state, job, cluster.now_us)


def why(cluster: ScriptedCluster, job: int) -> tuple[str, str]:
    return why_waiting(cluster.master.state, cluster.job(job))


def test_a_job_that_waits_for_slots_says_for_how_many_and_who_holds_them(
    cluster: ScriptedCluster,
) -> None:
    cluster.submit(processes=3)
    waits = cluster.submit(processes=2)
    name, sentence = why(cluster, waits)
    assert name == "InsufficientSlots"
    assert sentence.startswith("needs 2 slots, 1 was free at its turn (place 1 in line)")
    assert sentence.endswith("ran ahead of it: job 1 (3 slots)")


def test_a_job_that_runs_or_has_ended_waits_for_nothing(cluster: ScriptedCluster) -> None:
    job = cluster.submit()
    assert why(cluster, job) == ("", "")
    cluster.ask(cluster.launcher.ended("1.1"))
    assert why(cluster, job) == ("", "")


def test_a_job_waits_until_others_have_left_its_slots(cluster: ScriptedCluster) -> None:
    leaves = cluster.submit(processes=4)
    gets = cluster.submit(processes=4)
    cluster.ask(cluster.launcher.started("1.1"))
    cluster.ask(Change(leaves, "suspend", "ann"))
    told = "slots are assigned to it; it waits until job 1 has stopped"
    assert why(cluster, gets) == ("SlotsBeingFreed", told)
    cluster.ask(cluster.launcher.ended("1.1", None, "stopped"))
    assert why(cluster, gets) == ("", "")


def test_a_suspended_job_does_not_wait_for_slots(cluster: ScriptedCluster) -> None:
    cluster.submit(processes=4)
    waits = cluster.submit()
    cluster.ask(Change(waits, "suspend", "ann"))
    assert why(cluster, waits) == ("", "")


def test_waits_and_runs_fill_the_time_from_submission_until_now(cluster: ScriptedCluster) -> None:
    first, second = cluster.submit(processes=4), cluster.submit(processes=4)
    cluster.ask(cluster.launcher.started("1.1"))
    cluster.now_us += 60 * SECOND_US
    waiting = story_of(cluster, second).story
    assert [each.kind for each in waiting.chapters] == ["wait"]
    since_us = cluster.now_us - cluster.job(second).submitted_us
    assert waiting.waiting_us == {"too_few_gpus": since_us}
    cluster.ask(cluster.launcher.ended("1.1"))
    cluster.ask(cluster.launcher.started("2.1"))
    cluster.now_us += 5 * SECOND_US
    running = story_of(cluster, second).story
    assert [each.kind for each in running.chapters] == ["wait", "run"]
    lasted = sum(running.lasted_us(each) or 0 for each in running.chapters)
    assert lasted == cluster.now_us - cluster.job(second).submitted_us
    assert story_of(cluster, first).story.record.end_us == cluster.job(first).ended_us


def test_the_jobs_that_held_slots_meanwhile_are_named(cluster: ScriptedCluster) -> None:
    cluster.submit(processes=3)
    second = cluster.submit(processes=2)
    later = cluster.submit(processes=1)
    cluster.now_us += 10 * SECOND_US
    meanwhile = story_of(cluster, second).meanwhile
    assert [job for job, _ in meanwhile.most] == ["1"]
    cluster.ask(Change(second, "suspend", "ann"))
    cluster.ask(Change(second, "resume", "ann"))
    cluster.now_us += 10 * SECOND_US
    meanwhile = story_of(cluster, second).meanwhile
    assert [job for job, _ in meanwhile.most] == ["1", str(later)]
    assert meanwhile.later == 1


def test_a_preemption_names_the_job_that_got_the_slots(tmp_path: Path) -> None:
    cluster = ScriptedCluster(tmp_path, ChoosePolicy("tiresias-las", {"thresholds": "10"}))
    long = cluster.submit(processes=4)
    cluster.ask(cluster.launcher.started("1.1"))
    cluster.now_us += 60 * SECOND_US
    short = cluster.submit(processes=4)
    found = story_of(cluster, long)
    events = {each.because.event: each.because for each in found.story.chapters}
    assert [(other.job, other.gpus) for other in events["preempt"].others] == [(str(short), 4)]
    assert events["demote"].queue == 2
    assert found.rules.thresholds_gpu_s == (10.0,)
    cluster.close()


def test_after_a_crash_the_explanation_is_the_same(cluster: ScriptedCluster) -> None:
    cluster.submit(processes=4)
    waits = cluster.submit(processes=2)
    cluster.ask(Change(waits, "suspend", "ann"))
    cluster.ask(Change(waits, "resume", "ann"))
    cluster.submit(processes=1)
    before = [explained(cluster.master.state, job, cluster.now_us) for job in (1, 2, 3)]
    now_us = cluster.now_us
    cluster.begin()
    assert [explained(cluster.master.state, job, now_us) for job in (1, 2, 3)] == before


def test_a_cancelled_job_has_a_whole_story(cluster: ScriptedCluster) -> None:
    cluster.submit(processes=4)
    waits = cluster.submit()
    cluster.ask(Change(waits, "cancel", "ann"))
    assert cluster.job(waits).state is JobState.CANCELLED
    kinds = [each.because.event for each in story_of(cluster, waits).story.chapters]
    assert kinds == ["wait", "cancel"]


def test_an_unknown_job_is_an_error(cluster: ScriptedCluster) -> None:
    with pytest.raises(NotFound, match="there is no job 9"):
        story_of(cluster, 9)


def test_sentences_speak_of_slots() -> None:
    assert in_slots("needs 1 GPU, 2 GPUs; 5 GPU-seconds") == "needs 1 slot, 2 slots; 5 slot-seconds"
