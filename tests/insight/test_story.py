"""A story leaves no moment out."""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput
from motet.domain.units import SECOND_US
from motet.engine.journal.decision_log import DecisionLog
from motet.engine.policy_loading.catalogue import built_in_policies
from motet.insight.sentences import Rules, account, reason_title, sentence
from motet.insight.story import Chapter, JobRecord, Story
from motet.insight.story_event import OtherJob, StoryEvent, TeamSize
from motet.report.cluster_run.decision_reader import story_events_of
from motet.report.cluster_run.decision_writer import DecisionWriter
from motet.sim.experiment import Experiment
from motet.sim.replay.outcome import Outcome
from motet.sim.workload.workload import Workload
from soak_cases import others_in_soak

CLUSTER = ClusterSpec.of([4, 2], names=("big", "small"))
VARIANTS: list[tuple[str, dict[str, str]]] = [
    *((name, {}) for name in built_in_policies()),
    ("tiresias-las", {"thresholds": "20,60", "promote_knob": "0.5", "quantum_s": "4"}),
    ("tiresias-las", {"thresholds": "20", "promote_knob": "1"}),
    ("gandiva", {"quantum_s": "3"}),
    ("yarn-cs", {"locality_wait_s": "5"}),
    ("themis", {"lease_s": "5", "fairness": "0"}),
]
jobs = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 30), st.integers(1, 6)), min_size=1, max_size=12
)


def simulated(rows: Any, policy: str, own: dict[str, str], path: Path) -> tuple[Outcome, Workload]:
    workload = Workload.of(
        [f"j{number}" for number in range(len(rows))],
        [row[0] * SECOND_US for row in rows],
        [row[1] * SECOND_US for row in rows],
        [row[2] for row in rows],
        models=["VGG19" if row[1] % 2 else "" for row in rows],
    )
    experiment = Experiment(policy, {"preemption_cost": "1.5", **own})
    with path.open("w") as file:
        log = DecisionLog(DecisionWriter(file, workload.ids, CLUSTER.names))
        return experiment.run(workload, CLUSTER, journal=log), workload


def record_of(workload: Workload, outcome: Outcome, number: int) -> JobRecord:
    submit_us, end_us = int(workload.submit_us[number]), int(outcome.columns["end_us"][number])
    return JobRecord(workload.ids[number], "", "", int(workload.gpus[number]), submit_us, end_us)


@pytest.mark.parametrize(
    ("policy", "own"),
    others_in_soak(VARIANTS, [*VARIANTS[-5:], ("harmony", {}), ("optimus", {})]),
    ids=str,
)
@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=jobs)
def test_waits_and_runs_fill_the_time_from_submission_to_completion(
    policy: str, own: dict[str, str], rows: Any, tmp_path: Path
) -> None:
    outcome, workload = simulated(rows, policy, own, tmp_path / "log")
    for number, job in enumerate(workload.ids):
        record = record_of(workload, outcome, number)
        story = Story.of(record, story_events_of(tmp_path / "log", job))
        intervals = [chapter for chapter in story.chapters if chapter.kind != "moment"]
        edges = [record.submit_us, *(chapter.to_us for chapter in intervals)]

        assert [chapter.from_us for chapter in intervals] == edges[:-1]
        assert edges[-1] == record.end_us
        assert all(one.from_us <= two.from_us for one, two in pairwise(story.chapters))
        assert "unknown" not in story.waiting_us
        columns = {name: int(column[number]) for name, column in outcome.columns.items()}
        assert sum(story.waiting_us.values()) == columns["waiting_us"]
        assert story.running_us == columns["executed_us"]
        assert story.overhead_us == columns["overhead_us"]
        assert story.count("preempt") == columns["preemptions"]
        assert story.count("migrate") == columns["migrations"]
        assert story.count("promote") == columns["promotions"]
        assert all(sentence(chapter, Rules()) for chapter in story.chapters)


RECORD = JobRecord("a", "", "", 4, 0, 10 * SECOND_US)


def test_a_log_of_another_run_is_refused() -> None:
    finish = StoryEvent(9 * SECOND_US, "finish", 4)
    with pytest.raises(BadInput, match="not of the same run"):
        Story.of(RECORD, [StoryEvent(0, "start", 4), finish])


def test_a_job_that_never_ran_waits_to_the_end_of_the_simulation() -> None:
    waits = StoryEvent(0, "wait", 4, reason="too_few_gpus", free_gpus=3, place=1)
    story = Story.of(JobRecord("a", "", "", 4, 0, None), [waits])
    assert story.jct_us is None
    assert [sentence(chapter, Rules()) for chapter in story.chapters] == [
        "waits to the end of the simulation: needs 4 GPUs, 3 were free at its turn "
        "(place 1 in line)"
    ]


@pytest.mark.parametrize(
    ("because", "expected"),
    [
        (
            StoryEvent(
                0,
                "wait",
                8,
                reason="too_few_gpus",
                free_gpus=3,
                place=17,
                others=(OtherJob("job-12", 4), OtherJob("31", 1)),
                others_total=6,
            ),
            "waited 12 min 40 s: needs 8 GPUs, 3 were free at its turn (place 17 in line); "
            "ran ahead of it: job-12 (4 GPUs), job 31 (1 GPU) and 4 more",
        ),
        (
            StoryEvent(
                0,
                "wait",
                1,
                reason="behind_head",
                free_gpus=3,
                place=2,
                others=(OtherJob("job-5", 8),),
                others_total=1,
            ),
            "waited 12 min 40 s: may not overtake job-5, which needs 8 GPUs; needs 1 GPU itself, "
            "3 were free (place 2 in line)",
        ),
        (
            StoryEvent(
                0, "wait", 4, reason="locality", free_gpus=5, place=1, until_us=600 * SECOND_US
            ),
            "waited 12 min 40 s: needs 4 GPUs closer together, 5 were free (place 1 in line); "
            "after 10 min it takes them anywhere",
        ),
        (
            StoryEvent(0, "wait", 1, reason="order", free_gpus=1, until_us=60 * SECOND_US),
            "waited 12 min 40 s: the policy kept it back: 1 was free, it needs 1 GPU; the "
            "policy decides again within 1 min",
        ),
        (
            StoryEvent(0, "wait", 16, "less_progress", 0, 3, measure=0.25, bar=1.5),
            "waited 12 min 40 s: its loss is predicted to fall less per GPU than those of the jobs "
            "that run: by 0.25 of its largest change in one step, theirs by at least 1.5; asks for "
            "16 GPUs, none was free (place 3 in line)",
        ),
        (
            StoryEvent(0, "wait", 8, "more_left", 1, 2, measure=7200.0, bar=600.0),
            "waited 12 min 40 s: predicted to have more left to do than the jobs that run: 2 h on "
            "one GPU, they at most 10 min; asks for 8 GPUs, 1 was free (place 2 in line)",
        ),
        (
            StoryEvent(0, "wait", 4, reason="too_little_memory", free_gpus=6, place=1),
            "waited 12 min 40 s: needs 4 GPUs, 6 were free at its turn, but not enough memory "
            "beside them (place 1 in line)",
        ),
        (
            StoryEvent(0, "wait", 4, reason="too_few_cpus", free_gpus=6),
            "waited 12 min 40 s: needs 4 GPUs, 6 were free at its turn, but not enough CPUs "
            "beside them",
        ),
        (
            StoryEvent(0, "wait", 4, reason="share", free_gpus=2, place=3, measure=0.4, bar=0.1),
            "waited 12 min 40 s: its queue holds more than others that wait: dominant share 0.4, "
            "lowest waiting 0.1; needs 4 GPUs itself, 2 were free (place 3 in line)",
        ),
        (
            StoryEvent(
                0,
                "wait",
                4,
                reason="outbid",
                free_gpus=0,
                until_us=60 * SECOND_US,
                measure=1.1,
                bar=1.7,
            ),
            "waited 12 min 40 s: outbid: its rho 1.1, lowest winning rho 1.7; needs 4 GPUs, none "
            "was free; the policy decides again within 1 min",
        ),
        (
            StoryEvent(0, "wait", 4, reason="lease_over", free_gpus=2),
            "waited 12 min 40 s: its lease ended early, as payment for what it won, and others "
            "have the GPUs until the next auction; needs 4 GPUs, 2 were free",
        ),
        (
            StoryEvent(0, "resume", 6, machines={"m0": 4, "m3": 2}),
            "ran 12 min 40 s: resumed on m0 (4 GPUs) and m3 (2 GPUs)",
        ),
        (
            StoryEvent(0, "migrate", 6, machines={"m0": 6}, left="m3", times_as_long=4.125),
            "ran 12 min 40 s: moved to m0 (6 GPUs); away from m3, 4.12 times as slow as usual",
        ),
    ],
)
def test_every_event_has_one_sentence(because: StoryEvent, expected: str) -> None:
    kind: Any = "wait" if because.event == "wait" else "run"
    assert sentence(Chapter(kind, 0, 760 * SECOND_US, because), Rules()) == expected


UNIT = "of its largest change in one step"


@pytest.mark.parametrize(
    ("because", "expected"),
    [
        (
            StoryEvent(0, "wait", 8, "too_few_gpus", 1, 2, least_gpus=2),
            "asks for 8 GPUs and runs with 2 at least, 1 was free at its turn (place 2 in line)",
        ),
        (
            StoryEvent(0, "wait", 8, "too_few_gpus", 3, least_gpus=2),
            "asks for 8 GPUs and runs with 2 at least, 3 were free at its turn, but the policy "
            "gave it none of them",
        ),
        (
            StoryEvent(0, "wait", 6, "too_few_cpus", 4, least_gpus=2, usable_gpus=1),
            "asks for 6 GPUs and runs with 2 at least, 4 were free at its turn, but only 1 of "
            "them with enough CPUs beside it",
        ),
        (
            StoryEvent(0, "wait", 6, "too_little_memory", 4, least_gpus=2, usable_gpus=0),
            "asks for 6 GPUs and runs with 2 at least, 4 were free at its turn, but none of "
            "them with enough memory beside them",
        ),
        (
            StoryEvent(0, "wait", 6, "too_few_cpus", 8, least_gpus=2),
            "asks for 6 GPUs and runs with 2 at least, 8 were free at its turn, but not enough "
            "CPUs beside 6 of them",
        ),
        (
            StoryEvent(0, "wait", 6, "behind_head", 3, least_gpus=2),
            "may not overtake the head of the line; asks for 6 GPUs itself and runs with 2 at "
            "least, 3 were free",
        ),
        (
            StoryEvent(
                0,
                "migrate",
                2,
                machines={"m0": 2},
                others=(OtherJob("job-5", 2), OtherJob("7", 2)),
                others_total=2,
            ),
            "moved to m0 (2 GPUs), shared with job-5 and job 7",
        ),
        (
            StoryEvent(0, "start", 3, machines={"m0": 3}, team=TeamSize(2, 1, 3)),
            "started with 2 workers and 1 server on m0 (3 GPUs)",
        ),
        (
            StoryEvent(0, "resume", 1, machines={"m0": 1}, team=TeamSize(1, 0, 1)),
            "resumed with 1 worker on m0 (1 GPU)",
        ),
        (
            StoryEvent(
                0,
                "resize",
                8,
                machines={"m0": 3, "m1": 5},
                team=TeamSize(5, 3, 8),
                team_before=TeamSize(4, 4, 8),
            ),
            "resized from 4 workers and 4 servers to 5 and 3, on m0 (3 GPUs) and m1 (5 GPUs)",
        ),
        (
            StoryEvent(
                0,
                "resize",
                1,
                machines={"m0": 1},
                team=TeamSize(1, 0, 1),
                team_before=TeamSize(3, 0, 3),
                exchange=(OtherJob("7", 2),),
                exchange_total=1,
            ),
            "resized from 3 workers to 1, on m0 (1 GPU); 2 GPUs fewer; at that time got more: job "
            "7 (2 GPUs)",
        ),
        (
            StoryEvent(
                0,
                "resize",
                3,
                machines={"m0": 3},
                team=TeamSize(2, 1, 3),
                team_before=TeamSize(1, 0, 1),
                exchange=(OtherJob("7", 2),),
                exchange_total=1,
            ),
            "resized from 1 worker to 2 workers and 1 server, on m0 (3 GPUs); 2 GPUs more; at that "
            "time gave up GPUs: job 7 (2 GPUs)",
        ),
    ],
)
def test_sentences_of_elastic_jobs_state_their_size(because: StoryEvent, expected: str) -> None:
    assert account(because, Rules()) == expected


@pytest.mark.parametrize(
    ("reason", "measure", "bar", "expected"),
    [
        (
            "more_left",
            6180.4,
            6180.2,
            "predicted to have more left to do than the jobs that run: 6180.4 s on one GPU, they "
            "at most 6180.2 s",
        ),
        (
            "more_left",
            6180.0,
            6180.0,
            "predicted to have as much left to do as the last job that runs: 1 h 43 min on one GPU",
        ),
        (
            "left_unknown",
            6180.0,
            6180.0,
            "no end of it is predicted, so it is taken to need as long as others, in the median, "
            "and to have as much left to do as the last job that runs: 1 h 43 min on one GPU",
        ),
        (
            "left_unknown",
            None,
            None,
            "no job's end is predicted, so those go first that run with the fewest GPUs",
        ),
        (
            "less_progress",
            0.10001,
            0.10002,
            "its loss is predicted to fall less per GPU than those of the jobs that run: by "
            f"0.10001 {UNIT}, theirs by at least 0.10002",
        ),
        (
            "less_progress",
            0.1,
            0.1,
            "its loss is predicted to fall as much per GPU as that of the last job that runs: by "
            f"0.1 {UNIT}",
        ),
        (
            "fall_unknown",
            3.03e-05,
            0.5,
            "no loss of it is known, so it is taken to fall as 1/(1 + k) with k steps: less "
            f"per GPU than those of the jobs that run: by 3.03e-05 {UNIT}, theirs by at "
            "least 0.5",
        ),
    ],
)
def test_numbers_that_are_compared_differ_and_a_guess_is_called_one(
    reason: str, measure: float | None, bar: float | None, expected: str
) -> None:
    because = StoryEvent(0, "wait", 4, reason, 0, measure=measure, bar=bar)
    assert account(because, Rules()) == f"{expected}; asks for 4 GPUs, none was free"


@pytest.mark.parametrize(
    ("event", "queue", "expected"),
    [
        ("demote", 2, "demoted to queue 2: used up the 3,200 GPU-seconds of queue 1"),
        ("promote", 1, "promoted to queue 1: had waited at least 2 times as long as it ran"),
    ],
)
def test_a_move_between_queues_has_a_reason(event: str, queue: int, expected: str) -> None:
    moment = Chapter("moment", 0, 0, StoryEvent(0, event, 4, queue=queue))
    assert sentence(moment, Rules((3200.0,), 2.0)) == expected


def test_a_file_is_the_same_whenever_it_is_written() -> None:
    texts = []
    for _ in range(2):
        file = io.StringIO()
        workload = Workload.of(["a", "b"], [0, 1], [5, 5], [4, 4])
        Experiment("srtf").run(
            workload,
            CLUSTER,
            journal=DecisionLog(DecisionWriter(file, workload.ids, CLUSTER.names)),
        )
        texts.append(file.getvalue())
    assert texts[0] == texts[1]
    assert '"time": 0.000001' in texts[0]


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "log").write_text('{"time": 0, "job": "a", "event": "start", "gpus"\n')
    with pytest.raises(BadInput, match=r"log:1: no entry of a decision log"):
        story_events_of(tmp_path / "log", "a")


def test_an_entry_with_an_unknown_reason_or_event_is_refused(tmp_path: Path) -> None:
    entries = {
        "unknown reason to wait 'boredom'": '"event": "wait", "reason": "boredom", "gpus": 1',
        "'reason'": '"event": "wait", "gpus": 1',
        "unknown event 'vanish'": '"event": "vanish", "gpus": 1',
    }
    for message, entry in entries.items():
        (tmp_path / "log").write_text(f'{{"time": 0, "job": "a", {entry}}}\n')
        with pytest.raises(BadInput, match=rf"log:1: no entry of a decision log \({message}\)"):
            story_events_of(tmp_path / "log", "a")


def test_a_reason_that_is_not_in_the_table_has_no_sentence() -> None:
    with pytest.raises(ValueError, match="unknown reason to wait 'boredom'"):
        account(StoryEvent(0, "wait", 4, "boredom"), Rules())


def test_time_before_the_first_decision_is_a_wait_without_a_reason() -> None:
    story = Story.of(
        RECORD, [StoryEvent(SECOND_US, "start", 4), StoryEvent(10 * SECOND_US, "finish", 4)]
    )
    assert story.waiting_us == {"unknown": SECOND_US}
    assert sentence(story.chapters[0], Rules()) == "waited 1 s: no decision about it is recorded"
    assert reason_title("unknown") == "unknown"


def test_a_wait_in_which_only_the_place_in_line_changes_is_one_chapter() -> None:
    record = JobRecord("a", "", "", 2, 0, None)
    events = [
        StoryEvent(0, "wait", 2, "too_few_gpus", free_gpus=1, place=5),
        StoryEvent(3 * SECOND_US, "wait", 2, "too_few_gpus", free_gpus=1, place=3),
        StoryEvent(4 * SECOND_US, "wait", 2, "too_few_gpus", free_gpus=1, place=2),
        StoryEvent(6 * SECOND_US, "wait", 2, "too_few_gpus", free_gpus=0, place=2),
        StoryEvent(9 * SECOND_US, "start", 2, machines={"m0": 2}),
    ]
    first, second, run = Story.of(record, events).chapters
    assert [each.kind for each in (first, second, run)] == ["wait", "wait", "run"]
    assert (first.from_us, first.to_us, second.to_us) == (0, 6 * SECOND_US, 9 * SECOND_US)
    assert (first.because.place, first.because.last_place) == (5, 2)
    assert "(place 5 in line, later 2)" in sentence(first, Rules())
    assert "(place 2 in line)" in sentence(second, Rules())
