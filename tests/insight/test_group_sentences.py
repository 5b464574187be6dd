"""Sentences about jobs that share machines."""

from __future__ import annotations

from pathlib import Path

from motet.domain.cluster import ClusterSpec
from motet.domain.decision import GroupForecast
from motet.engine.journal.decision_log import DecisionLog
from motet.insight.log_events import story_event
from motet.insight.sentences import Rules, account
from motet.insight.story_event import OtherJob, StoryEvent
from motet.report.cluster_run.decision_reader import story_events_of
from motet.report.cluster_run.decision_writer import DecisionWriter
from motet.sim.experiment import Experiment
from subtask_workloads import SubtaskRow, subtask_workload

GIB = 2**30


def test_the_start_of_a_group_says_what_the_model_expects_of_it() -> None:
    event = StoryEvent(
        0,
        "migrate",
        2,
        machines={"m0": 1, "m1": 1},
        others=(OtherJob("b", 2),),
        others_total=1,
        forecast=GroupForecast(34.0, 52.0, 0.97, 0.81, 2),
        on_disk=0.25,
    )
    assert account(event, Rules()) == (
        "moved to m0 (1 GPU) and m1 (1 GPU), shared with b: an iteration of each in 34 s, "
        "one after the other in 52 s (1.53x); CPU in use 97 %, network 81 % of the time; "
        "25 % of its input on disk"
    )


def test_jobs_that_are_not_measured_yet_are_told_apart() -> None:
    event = StoryEvent(
        0,
        "start",
        1,
        machines={"m0": 1},
        others=(OtherJob("b", 1), OtherJob("c", 1)),
        others_total=2,
        forecast=GroupForecast(34.0, 52.0, 0.97, 0.81, 2),
    )
    assert "an iteration of each of the 2 measured jobs in 34 s" in account(event, Rules())


def test_use_and_its_absence_explain_a_wait() -> None:
    lower = StoryEvent(0, "wait", 1, reason="no_gain", measure=0.931, bar=0.952)
    higher = StoryEvent(0, "wait", 1, reason="no_gain", measure=0.96, bar=0.952)
    assert account(lower, Rules()) == (
        "CPU and network would be used 93.1 % with it in the best group, as against 95.2 %"
    )
    assert account(higher, Rules()) == (
        "the use of CPU and network would rise only from 95.2 % to 96.0 % with it"
    )


def test_the_log_of_a_run_reads_back_with_groups_and_input_on_disk(tmp_path: Path) -> None:
    rows = [SubtaskRow(0, 50, 1_000.0, 100.0, 100 * GIB), SubtaskRow(0, 50, 200.0, 200.0, 90 * GIB)]
    workload, cluster = subtask_workload(rows), ClusterSpec.of([1] * 5, memory_bytes=32 * GIB)
    path, log = tmp_path / "decisions.jsonl", DecisionLog()
    Experiment("harmony", {}).run(workload, cluster, journal=log)
    with path.open("w") as file:
        write = DecisionWriter(file, workload.ids, cluster.names)
        for entry in log:
            write(entry)
    read = [event for job in workload.ids for event in story_events_of(path, job)]
    assert any(event.forecast and event.on_disk for event in read)
    for number, job in enumerate(workload.ids):
        own = [
            story_event(entry, workload.ids.__getitem__, cluster.names)
            for entry in log
            if entry.job == number
        ]
        assert own == story_events_of(path, job)
