"""Lines of a decision log: the fields of each kind of entry, in their order, as JSON text."""

from __future__ import annotations

import io
import json

import pytest

from motet.domain.decision import GroupForecast, GroupMeasurement, Straggler
from motet.domain.log_entry import LogEntry, OtherJobs, Team
from motet.domain.snapshot import Placement
from motet.domain.units import SECOND_US
from motet.report.cluster_run.decision_writer import DecisionWriter, in_batches

JOBS = ["plain", 'a "quoted" one', "line\nbreak", "Größe\\", "\x7f\u2028"]
MACHINES = ["m0", 'm"1"']
PLACE, OTHERS = Placement((0, 1), (4, 2)), OtherJobs(((1, 2), (3, 4)), 7)
HELD = r'"gpus": 6, "machines": {"m0": 4, "m\"1\"": 2}'
NAMED = r'[{"job": "a \"quoted\" one", "gpus": 2}, {"job": "Größe\\", "gpus": 4}]'
INFINITE, NO_NUMBER = float("inf"), float("nan")
LINES = [
    (
        LogEntry(2_500_000, 0, "start", 6, placement=PLACE, queue=1, on_disk=0.25),
        f'"time": 2.5, "job": "plain", "event": "start", {HELD}, "on_disk": 0.25, '
        '"priority_queue": 2',
    ),
    (
        LogEntry(0, 2, "promote", 4, queue=0),
        r'"time": 0, "job": "line\nbreak", "event": "promote", "gpus": 4, "priority_queue": 1',
    ),
    (
        LogEntry(2_500_001, 1, "too_few_gpus", 6, 3, 5, others=OTHERS),
        r'"time": 2.500001, "job": "a \"quoted\" one", "event": "wait", "reason": "too_few_gpus", '
        f'"gpus": 6, "free_gpus": 3, "place": 6, "blockers": {NAMED}, "blockers_total": 7',
    ),
    (
        LogEntry(3 * SECOND_US, 2, "behind_head", 1, position=0, others=OtherJobs(((4, 2),), 1)),
        r'"time": 3, "job": "line\nbreak", "event": "wait", "reason": "behind_head", "gpus": 1, '
        '"free_gpus": 0, "place": 1, "blockers": [{"job": "\x7f\u2028", "gpus": 2}], '
        '"blockers_total": 1',
    ),
    (
        LogEntry(
            SECOND_US, 3, "more_left", 1, 2, measure=1e-7, bar=12.0, until_us=500_000, least_gpus=1
        ),
        r'"time": 1, "job": "Größe\\", "event": "wait", "reason": "more_left", "gpus": 1, '
        '"least_gpus": 1, "free_gpus": 2, "measure": 1e-07, "bar": 12.0, "until": 0.5',
    ),
    *(
        (
            LogEntry(0, 0, "outbid", 1, 2, measure=measure, bar=bar),
            '"time": 0, "job": "plain", "event": "wait", "reason": "outbid", "gpus": 1, '
            '"free_gpus": 2',
        )
        for measure, bar in ((INFINITE, 1.0), (1.0, INFINITE), (NO_NUMBER, 1.0), (1.0, NO_NUMBER))
    ),
    (
        LogEntry(0, 4, "queue_held", 1, 2, usable_gpus=3, least_gpus=1, job_queue='q "1"'),
        '"time": 0, "job": "\x7f\u2028", "event": "wait", "reason": "queue_held", "gpus": 1, '
        r'"least_gpus": 1, "free_gpus": 2, "usable_gpus": 3, "queue": "q \"1\""',
    ),
    (
        LogEntry(0, 0, "too_few_cpus", 1, 2, usable_gpus=3),
        '"time": 0, "job": "plain", "event": "wait", "reason": "too_few_cpus", "gpus": 1, '
        '"free_gpus": 2',
    ),
    (
        LogEntry(
            *(1_500_000, 1, "resize", 6),
            placement=PLACE,
            team=Team(2, 1, 6),
            team_before=Team(1, 1, 2),
            exchange=OtherJobs(((0, 3),), 1),
        ),
        rf'"time": 1.5, "job": "a \"quoted\" one", "event": "resize", {HELD}, "workers": 2, '
        '"servers": 1, "before": {"workers": 1, "servers": 1, "gpus": 2}, '
        '"given_by": [{"job": "plain", "gpus": 3}], "given_by_total": 1',
    ),
    (
        LogEntry(
            *(1_500_000, 0, "resize", 6),
            placement=PLACE,
            left=Straggler(1, 2.5),
            team=Team(2, 1, 6),
            team_before=Team(3, 1, 8),
            exchange=OTHERS,
            others=OtherJobs(((4, 1),), 1),
        ),
        f'"time": 1.5, "job": "plain", "event": "resize", {HELD}, "workers": 2, "servers": 1, '
        '"before": {"workers": 3, "servers": 1, "gpus": 8}, "left": "m\\"1\\"", '
        '"times_as_long": 2.5, "shares_with": [{"job": "\x7f\u2028", "gpus": 1}], '
        f'"shares_with_total": 1, "taken_by": {NAMED}, "taken_by_total": 7',
    ),
    (
        LogEntry(
            1_500_000, 2, "start", 6, placement=PLACE, forecast=GroupForecast(1.5, 2.5, 0.5, 0.1, 2)
        ),
        rf'"time": 1.5, "job": "line\nbreak", "event": "start", {HELD}, "group": '
        '{"iteration_s": 1.5, "in_turn_s": 2.5, "cpu": 0.5, "network": 0.1, "jobs": 2}',
    ),
    (
        LogEntry(
            *(0, 0, "measure", 6),
            placement=PLACE,
            measured=GroupMeasurement(1.5, 1.0, True, 1.2, 0.9, 0.3, 0.5, 0.1, 2),
            others=OTHERS,
        ),
        f'"time": 0, "job": "plain", "event": "measure", {HELD}, "measured": {{"iteration_s": 1.5, '
        '"alone_s": 1.0, "is_alone_measured": true, "work": 1.2, "cpu": 0.9, "network": 0.3, '
        f'"own_cpu": 0.5, "own_network": 0.1, "jobs": 2}}, "shares_with": {NAMED}, '
        '"shares_with_total": 7',
    ),
    (
        LogEntry(-5_000_000, 0, "preempt", 6, placement=PLACE, others=OTHERS, queue=0),
        f'"time": -5, "job": "plain", "event": "preempt", {HELD}, "taken_by": {NAMED}, '
        '"taken_by_total": 7, "priority_queue": 1',
    ),
    (
        LogEntry(9 * SECOND_US, 0, "finish", 6, placement=PLACE, overhead_us=1_500_000),
        f'"time": 9, "job": "plain", "event": "finish", {HELD}, "overhead": 1.5',
    ),
]


@pytest.mark.parametrize(("entry", "fields"), LINES, ids=[entry.event for entry, _ in LINES])
def test_a_line_has_the_fields_of_its_entry(entry: LogEntry, fields: str) -> None:
    file = io.StringIO()
    DecisionWriter(file, JOBS, MACHINES)(entry)
    assert file.getvalue() == f"{{{fields}}}\n"
    assert json.loads(file.getvalue())["job"] == JOBS[entry.job]


def test_entries_that_name_the_same_jobs_and_time_have_their_own_text() -> None:
    file = io.StringIO()
    write = DecisionWriter(file, JOBS, MACHINES)
    entry, other = LogEntry(2_500_000, 1, "too_few_gpus", 6, others=OTHERS), OtherJobs(((2, 2),), 1)
    for each in (entry, entry._replace(others=other), entry._replace(time_us=0)):
        write(each)
    lines = [json.loads(line) for line in file.getvalue().split("\n")[:-1]]
    assert [line["time"] for line in lines] == [2.5, 2.5, 0]
    assert [line["blockers_total"] for line in lines] == [7, 1, 7]
    assert [line["blockers"][0]["job"] for line in lines] == [JOBS[1], JOBS[2], JOBS[1]]


@pytest.mark.parametrize("count", [0, 1, 128, 300])
def test_entries_in_batches_are_written_in_their_order(count: int) -> None:
    written: list[int] = []
    with in_batches(lambda entry: written.append(entry.job)) as write:
        for job in range(count):
            write(LogEntry(0, job, "start"))
        assert written == list(range(count - count % 128))
    assert written == list(range(count))


def test_the_entries_of_a_run_that_fails_are_written() -> None:
    written: list[int] = []

    def fail_after_an_entry() -> None:
        with in_batches(lambda entry: written.append(entry.job)) as write:
            write(LogEntry(0, 7, "start"))
            raise KeyError

    with pytest.raises(KeyError):
        fail_after_an_entry()
    assert written == [7]


def test_no_entry_is_written_again_after_writing_has_failed() -> None:
    written: list[int] = []

    def write_or_fail(entry: LogEntry) -> None:
        if entry.job == 3:
            raise KeyError
        written.append(entry.job)

    def write_all() -> None:
        with in_batches(write_or_fail) as write:
            for job in range(1024):
                write(LogEntry(0, job, "start"))

    with pytest.raises(KeyError):
        write_all()
    assert written == [0, 1, 2]
