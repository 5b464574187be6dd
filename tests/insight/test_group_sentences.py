"""Sentences about jobs that share machines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from motet.domain.cluster import ClusterSpec
from motet.domain.decision import GroupForecast, GroupMeasurement
from motet.domain.estimates import Overlap
from motet.engine.journal.decision_log import DecisionLog
from motet.insight.log_events import story_event
from motet.insight.sentences import Rules, account
from motet.insight.story import JobRecord, Story
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
        "moved to m0 (1 GPU) and m1 (1 GPU), shared with b; predicted: an iteration of each in "
        "34 s, one after the other in 52 s (1.53x); CPU in use 97 %, network 81 % of the time; "
        "25 % of its input on disk"
    )


def test_the_start_of_an_asynchronous_job_says_why_it_is_one() -> None:
    event = StoryEvent(0, "migrate", 1, machines={"m0": 1}, asynchronous=True)
    assert account(event, Rules()) == (
        "moved to m0 (1 GPU); asynchronous: its COMM runs beside its COMP, since too few others "
        "fill the gaps"
    )


def test_a_job_that_starts_again_on_its_machines_did_not_move() -> None:
    event = StoryEvent(0, "migrate", 1, machines={"m0": 1}, asynchronous=True, stays=True)
    assert account(event, Rules()).startswith("started again on m0 (1 GPU); asynchronous: its COMM")
    assert account(replace(event, asynchronous=False), Rules()) == (
        "started again on m0 (1 GPU); not asynchronous any more, since others fill the gaps"
    )


def test_a_measurement_says_which_of_its_figures_was_predicted() -> None:
    found = GroupMeasurement(10.0, 5.0, False, 1.3, 0.7, 0.6, 0.2, 0.8, 2)
    event = StoryEvent(0, "measure", 1, others=(OtherJob("b", 1),), others_total=1, measured=found)
    assert account(event, Rules()) == (
        "measured beside b: an iteration took 10 s, alone 5 s (predicted by its measured COMP and "
        "COMM); the jobs did 1.30 times the work of one at a time; CPU in use 70 % of the time (by "
        "this job alone 20 %), network in use 60 % of the time (by this job alone 80 %)"
    )
    known = replace(event, measured=found._replace(is_alone_measured=True), others_total=3)
    assert "alone 5 s (measured); the 2 measured jobs did 1.30 times" in account(known, Rules())
    short = replace(event, measured=found._replace(iteration_s=0.0052, alone_s=0.00134))
    assert "an iteration took 0.0052 s, alone 0.00134 s" in account(short, Rules())
    only = replace(event, measured=found._replace(jobs=1))
    assert "this job, the only one measured, did 1.30 times" in account(only, Rules())


def test_of_measurements_beside_the_same_jobs_the_last_one_is_told() -> None:
    record = JobRecord("a", "", "", 1, 0, 9)
    with_b, with_c = ((OtherJob(name, 1),) for name in "bc")
    events = [
        StoryEvent(0, "start", 1),
        StoryEvent(1, "measure", 1, others=with_b),
        StoryEvent(2, "measure", 1, others=with_b),
        StoryEvent(4, "measure", 1, others=with_c),
        StoryEvent(9, "finish", 1),
    ]
    told = [(each.kind, each.from_us) for each in Story.of(record, events).chapters]
    assert told == [("run", 0), ("moment", 2), ("moment", 4), ("moment", 9)]


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
    one = replace(event, forecast=GroupForecast(34.0, 34.0, 0.4, 0.6, 1))
    assert "predicted: an iteration of the only measured job in 34 s; CPU" in account(one, Rules())


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
    assert any(event.measured for event in read)
    for number, job in enumerate(workload.ids):
        own = [
            story_event(entry, workload.ids.__getitem__, cluster.names)
            for entry in log
            if entry.job == number
        ]
        assert own == story_events_of(path, job)


def test_the_log_says_which_jobs_are_asynchronous_and_of_others_nothing(tmp_path: Path) -> None:
    row = SubtaskRow(0, 50, 12.0, 4.0)
    for overlap in (Overlap.PERMITTED, Overlap.NEVER):
        workload = subtask_workload([row._replace(overlap=overlap)])
        cluster, log = ClusterSpec.uniform(3, 1), DecisionLog()
        Experiment("harmony", {"async_efficiency": "0.9"}).run(workload, cluster, journal=log)
        path = tmp_path / f"{overlap.name}.jsonl"
        with path.open("w") as file:
            write = DecisionWriter(file, workload.ids, cluster.names)
            for entry in log:
                write(entry)
        is_switched = overlap is Overlap.PERMITTED
        assert ('"asynchronous": true' in path.read_text()) == is_switched
        read = story_events_of(path, "j0")
        assert any(event.asynchronous for event in read) == is_switched


def test_the_log_says_which_jobs_start_again_on_their_machines(tmp_path: Path) -> None:
    first = SubtaskRow(0, 1_000, 5.0, 5.0, overlap=Overlap.PERMITTED, async_efficiency=0.8)
    workload = subtask_workload([first, SubtaskRow(1_000, 200, 5.0, 5.0)])
    cluster, log, path = ClusterSpec.uniform(1, 1), DecisionLog(), tmp_path / "decisions.jsonl"
    Experiment("harmony", {"async_efficiency": "0.8"}).run(workload, cluster, journal=log)
    with path.open("w") as file:
        write = DecisionWriter(file, workload.ids, cluster.names)
        for entry in log:
            write(entry)
    read = [each for each in story_events_of(path, "j0") if each.event == "migrate"]
    assert [each.asynchronous for each in read] == [True, False, True]
    assert all(each.stays for each in read)
