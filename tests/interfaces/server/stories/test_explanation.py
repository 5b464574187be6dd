"""Explanations of live jobs: the reasons of waits, places and times, before and after a crash."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from motet.domain.errors import NotFound
from motet.insight.job_story import JobStory
from motet.insight.wording import in_slots
from motet.interfaces.server.stories.explanation import explained, why_waiting
from motet.interfaces.server.views import iso, job_explanation, job_line
from motet.interfaces.server.views import job_page as job_document
from motet.interfaces.server.web.decided import decided
from motet.interfaces.server.web.pages import job as job_page
from motet.live.jobs.array_file import array_spec
from motet.live.jobs.job_state import JobState
from motet.live.launcher.messages import AttemptRunning
from motet.live.master.intake import Change, ChoosePolicy
from motet.live.master.job_updates import UpdateJob
from motet.live.master.requests import Workplace
from motet.live.master.submissions.submission import SubmitArray
from motet.live.queues.queue_changes import CreateQueue, LimitQueue
from motet.report.simulation.story_document import story_document
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
    document = job_explanation(cluster.master.state, waits, cluster.now_us)
    assert document["advice"].startswith("with fewer slots it may start earlier")


def test_a_job_that_waits_says_which_of_the_jobs_before_it_have_ended(
    cluster: ScriptedCluster,
) -> None:
    first, second = cluster.submit(processes=1), cluster.submit(processes=1)
    waits = cluster.submit(processes=4)
    for job in (first, second):
        cluster.ask(cluster.launcher.started(f"{job}.1"))
    cluster.ask(cluster.launcher.ended(f"{first}.1"))
    sentence = why(cluster, waits)[1]
    assert sentence.endswith(
        f"job {first} (1 slot) and job {second} (1 slot); job {first} has ended since"
    )


def test_a_job_of_one_slot_is_not_told_to_ask_for_fewer(cluster: ScriptedCluster) -> None:
    cluster.submit(processes=4)
    waits = cluster.submit()
    assert why(cluster, waits)[0] == "InsufficientSlots"
    document = job_explanation(cluster.master.state, waits, cluster.now_us)
    assert document["advice"].startswith("nothing to do: it needs one slot alone")


def test_a_job_with_bounds_may_ask_for_fewer_where_the_policy_resizes_none(tmp_path: Path) -> None:
    cluster = ScriptedCluster(tmp_path, ChoosePolicy("best-effort", {}))
    cluster.submit(processes=4)
    command = cluster.submit(processes=4, min_processes=1)
    training = cluster.train(workers={"min": 1, "max": 2}, servers=1)
    for waits in (command, training):
        advice = explanation(cluster, waits)["advice"]
        assert advice.startswith("with fewer slots it may start earlier")
    cluster.close()


def test_a_training_at_its_least_size_is_not_told_to_ask_for_fewer(tmp_path: Path) -> None:
    cluster = ScriptedCluster(tmp_path, ChoosePolicy("fair", {}))
    cluster.submit(processes=4)
    waits = cluster.train(workers={"min": 1, "max": 2}, servers=1)
    assert why(cluster, waits)[0] == "InsufficientSlots"
    document = job_explanation(cluster.master.state, waits, cluster.now_us)
    assert document["advice"].startswith("nothing to do: it needs two slots, for a worker and")
    cluster.ask(Change(waits, "cancel", "ann"))
    larger = cluster.train(workers=2, servers=1)
    document = job_explanation(cluster.master.state, larger, cluster.now_us)
    assert document["advice"].startswith("with fewer slots it may start earlier")
    cluster.close()


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
    assert found.rules.last.thresholds_gpu_s == (10.0,)
    demoted = [each for each in told(cluster, long) if each.startswith("demoted")]
    assert demoted == ["demoted to queue 2: used up the 10 slot-seconds of queue 1"]
    cluster.ask(ChoosePolicy("tiresias-las", {"thresholds": "5"}))
    cluster.ask(ChoosePolicy("fifo"))
    assert [each for each in told(cluster, long) if each.startswith("demoted")] == demoted
    (line,) = (
        each["sentence"]
        for found in decided(cluster.master.state, 1)["rounds"]
        for each in found["changes"]
        if each["sentence"].startswith("demoted")
    )
    assert line == demoted[0]
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


def test_no_time_is_negative_where_a_decision_is_ahead_of_the_clock(
    cluster: ScriptedCluster,
) -> None:
    runs = cluster.submit()
    before_us = cluster.now_us - 11_000
    chapters = job_explanation(cluster.master.state, runs, before_us)["chapters"]
    assert chapters[-1]["kind"] == "run"
    assert chapters[-1]["duration_s"] == 0


def test_a_cancelled_job_has_a_whole_story(cluster: ScriptedCluster) -> None:
    cluster.submit(processes=4)
    waits = cluster.submit()
    cluster.ask(Change(waits, "cancel", "ann"))
    assert cluster.job(waits).state is JobState.CANCELLED
    kinds = [each.because.event for each in story_of(cluster, waits).story.chapters]
    assert kinds == ["wait", "cancel"]


def told(cluster: ScriptedCluster, job: int) -> list[str]:
    """Sentences of the story, as `motet explain` prints them."""
    return [
        each["sentence"]
        for each in job_explanation(cluster.master.state, job, cluster.now_us)["chapters"]
    ]


def test_a_job_that_waits_for_others_is_explained_before_and_after_its_release(
    cluster: ScriptedCluster,
) -> None:
    first, second = cluster.submit(), cluster.submit(processes=2)
    last = cluster.submit(processes=4, after=[first, second])
    cluster.now_us += 60 * SECOND_US
    assert told(cluster, last) == ["has waited 1 min: until jobs 1 and 2 have succeeded"]
    (wait,) = story_document(story_of(cluster, last))["chapters"]
    assert wait["reason"] == "dependency"
    assert wait["blockers"] == [{"job": "1", "gpus": 1}, {"job": "2", "gpus": 2}]
    cluster.ask(cluster.launcher.ended("1.1"))
    cluster.submit()
    cluster.ask(cluster.launcher.ended("2.1"))
    wait, slots = told(cluster, last)
    assert wait == "waited 1 min 3 s: until jobs 1 and 2 have succeeded"
    assert slots.startswith("has waited 0 s: needs 4 slots, 3 were free")
    now_us = cluster.now_us
    cluster.begin()
    assert story_of(cluster, last).story.chapters[0].to_us == now_us


def test_a_preemption_for_the_guarantee_of_another_queue_says_so(
    cluster: ScriptedCluster,
) -> None:
    """Under fifo, which preempts no job itself."""
    cluster.ask(CreateQueue("vision", "ann", {"guarantee": 2}))
    job = cluster.submit(processes=4)
    cluster.ask(cluster.launcher.started(f"{job}.1"))
    taker = cluster.submit(processes=2, queue="vision")
    document = job_explanation(cluster.master.state, job, cluster.now_us)
    (moment,) = (each for each in document["chapters"] if each["kind"] == "moment")
    assert moment["sentence"].startswith("preempted (queue vision is guaranteed 2 slots): lost ")
    assert moment["sentence"].endswith(f"slots went to job {taker} (2 slots)")
    cluster.now_us += SECOND_US
    cluster.ask(UpdateJob(job, "ann", queue="vision"))
    chapters = job_explanation(cluster.master.state, job, cluster.now_us)["chapters"]
    assert moment["sentence"] in [each["sentence"] for each in chapters]


def test_a_wait_that_is_over_tells_whose_slots_were_the_last_to_become_free(tmp_path: Path) -> None:
    """Not only those that had slots when it began."""
    cluster = ScriptedCluster(tmp_path, ChoosePolicy("best-effort", {}))
    first = cluster.submit(processes=3)
    waits = cluster.submit(processes=4)
    later = cluster.submit()
    cluster.ask(cluster.launcher.ended(f"{first}.1"))
    cluster.now_us += 5 * SECOND_US
    cluster.ask(cluster.launcher.ended(f"{later}.1"))
    story = told(cluster, waits)
    assert story[0].endswith(
        f"; ran ahead of it at first: job {first} (3 slots); the last slots before its start came "
        f"from job {later} (1 slot)"
    )
    document = explanation(cluster, waits)["chapters"][0]
    assert document["blockers"] == [{"job": str(first), "gpus": 3}]
    assert document["released_last"] == [{"job": str(later), "gpus": 1}]
    cluster.replay()
    assert told(cluster, waits)[0] == story[0]
    cluster.close()


def test_a_wait_that_a_preemption_ended_tells_who_had_its_slots(cluster: ScriptedCluster) -> None:
    cluster.ask(CreateQueue("vision", "ann", {}))
    job = cluster.submit(processes=4)
    cluster.ask(cluster.launcher.started(f"{job}.1"))
    taker = cluster.submit(processes=2, queue="vision")
    cluster.ask(LimitQueue("vision", "ann", {"guarantee": 2}))
    cluster.now_us += 2 * SECOND_US
    cluster.ask(cluster.launcher.ended(f"{job}.1"))
    assert told(cluster, taker)[0].endswith(
        f"the last slots before its start came from job {job} (4 slots)"
    )


def test_a_job_beyond_the_limit_of_its_array_is_explained(cluster: ScriptedCluster) -> None:
    first = cluster.submit()
    spec = {"name": "sweep", "run": "true", "workdir": "/", "array": "0-1%1", "after": first}
    array = cluster.ask(SubmitArray(array_spec(spec), "ann"))
    cluster.now_us += 9 * SECOND_US
    cluster.ask(cluster.launcher.ended("1.1"))
    cluster.now_us += 20 * SECOND_US
    needs_first = "waited 10 s: until job 1 has succeeded"
    assert told(cluster, array + 2) == [
        needs_first,
        "has waited 20 s: until no other jobs of its array are open",
    ]
    assert told(cluster, array + 1)[0] == needs_first
    assert explanation(cluster, array + 2)["name"] == "sweep[1]"


@pytest.mark.parametrize("end", ["cancel", "dependency"])
def test_a_job_that_was_cancelled_while_it_was_held_has_a_whole_story(
    cluster: ScriptedCluster, end: str
) -> None:
    first = cluster.submit()
    held = cluster.submit(after=first)
    cluster.now_us += 9 * SECOND_US
    cluster.ask(Change(held if end == "cancel" else first, "cancel", "ann"))
    why = "by its user" if end == "cancel" else "it waits for job 1 to succeed, which is CANCELLED"
    assert told(cluster, held) == [
        "waited 10 s: until job 1 has succeeded",
        f"cancelled{' ' if end == 'cancel' else ': '}{why}",
    ]


def test_a_trial_and_the_job_that_waits_for_it_are_explained(cluster: ScriptedCluster) -> None:
    job = cluster.submit(processes=2, trial={"limit_s": 30})
    cluster.until_started(job - 1)
    assert told(cluster, job)[0].endswith(": until job 1 has succeeded")
    cluster.handle(AttemptRunning("1.1", 0.0))
    cluster.now_us += 60 * SECOND_US
    cluster.handle()
    assert cluster.job(job - 1).state is JobState.SUCCEEDED
    assert told(cluster, job - 1)[-1] == "finished: ran for 30 s without an error"


def test_a_job_that_reaches_its_limit_says_so_while_it_is_stopped_and_later(
    cluster: ScriptedCluster,
) -> None:
    job = cluster.submit(max_duration=100)
    cluster.handle(AttemptRunning("1.1", 0.0))
    line = job_line(cluster.master.state, cluster.job(job))
    assert (line["max_duration_s"], line["reason"]) == (100, "")
    assert line["limit_at"] == iso(cluster.job(job).attempts[0].requested_us + 100 * SECOND_US)
    cluster.now_us = cluster.master.recheck_at_us
    cluster.handle()
    line = job_line(cluster.master.state, cluster.job(job))
    assert (line["state"], line["reason"]) == ("RUNNING", "TimeLimit")
    ran, limit = "it ran 1 min 11 s", "max_duration, 100s, of which the last 30s are for its end"
    at_its_limit = f"{ran} of its {limit}"
    assert line["message"] == f"it is being stopped: {at_its_limit}"
    cluster.handle(cluster.launcher.ended("1.1", None, "stopped"))
    line = job_line(cluster.master.state, cluster.job(job))
    assert (line["state"], line["limit_at"]) == ("FAILED", None)
    assert line["reason"] == at_its_limit.replace("11 s", "12 s")
    assert told(cluster, job)[1:] == [
        f"stopped: {at_its_limit}",
        f"attempt 1 stopped (time_limit): {line['reason']}",
    ]


def test_an_unknown_job_is_an_error(cluster: ScriptedCluster) -> None:
    with pytest.raises(NotFound, match="there is no job 9"):
        story_of(cluster, 9)


def test_sentences_speak_of_slots() -> None:
    assert in_slots("needs 1 GPU, 2 GPUs; 5 GPU-seconds") == "needs 1 slot, 2 slots; 5 slot-seconds"


def test_the_place_in_line_is_that_of_the_last_decision_also_after_a_restart(
    tmp_path: Path,
) -> None:
    cluster = ScriptedCluster(tmp_path, ChoosePolicy("tiresias-las", {}))
    for _ in range(4):
        cluster.submit(processes=4)
    waits = cluster.submit(processes=2)
    assert "(place 4 in line)" in explanation(cluster, waits)["message"]

    cluster.ask(Change(3, "cancel", "ann"))
    document = explanation(cluster, waits)
    assert "(place 3 in line)" in document["message"]
    assert "(place 4 in line, later 3)" in document["chapters"][-1]["sentence"]

    cluster.replay()
    cluster.master.choose_first(None)
    again = explanation(cluster, waits)
    assert (again["message"], again["chapters"]) == (document["message"], document["chapters"])
    assert cluster.master.take_steps() == []
    cluster.close()


def test_the_page_of_a_job_tells_the_same_place_as_its_explanation(tmp_path: Path) -> None:
    cluster = ScriptedCluster(tmp_path, ChoosePolicy("tiresias-las", {}))
    for _ in range(4):
        cluster.submit(processes=4)
    waits = cluster.submit(processes=2)
    cluster.ask(Change(3, "cancel", "ann"))

    workplace = Workplace(cluster.folder, {})
    page = job_page(cluster.master.state, waits, workplace, cluster.now_us, [])
    document = job_document(cluster.master.state, waits, workplace)
    assert "(place 3 in line)" in page["message"]
    assert page["message"] == explanation(cluster, waits)["message"]
    kept = document.keys() - {"attempt_list"}
    assert {name: page.get(name) for name in kept} == {name: document[name] for name in kept}
    cluster.close()


def explanation(cluster: ScriptedCluster, job: int) -> dict[str, Any]:
    return job_explanation(cluster.master.state, job, cluster.now_us)


def test_an_elastic_command_has_processes_instead_of_workers(cluster: ScriptedCluster) -> None:
    command = cluster.submit(processes=2, min_processes=1)
    sentence = explanation(cluster, command)["chapters"][-1]["sentence"]
    assert "started with 2 processes on m0 (2 slots)" in sentence
