"""Lines of a decision log are what the JSON encoder makes of their content."""

from __future__ import annotations

import io
import json

import pytest

from motet.domain.decision import GroupForecast, Straggler
from motet.domain.log_entry import LogEntry, OtherJobs, Team
from motet.domain.snapshot import Placement
from motet.domain.units import SECOND_US
from motet.report.cluster_run.decision_writer import DecisionWriter

JOBS = ["plain", 'a "quoted" one', "line\nbreak", "Größe\\", "\x7f\u2028"]
MACHINES = ["m0", 'm"1"']
PLACE, OTHERS = Placement((0, 1), (4, 2)), OtherJobs(((1, 2), (3, 4)), 7)
ENTRIES = [
    LogEntry(2_500_000, 0, "start", 6, placement=PLACE, queue=1, on_disk=0.25),
    LogEntry(2_500_000, 1, "too_few_gpus", 6, 3, 5, others=OTHERS),
    LogEntry(3 * SECOND_US, 2, "behind_head", 1, others=OtherJobs(((4, 2),), 1)),
    LogEntry(
        SECOND_US, 3, "more_left", 1, 2, measure=1e-7, bar=12.0, until_us=500_000, least_gpus=1
    ),
    LogEntry(0, 4, "queue_held", 1, 2, usable_gpus=3, least_gpus=1, job_queue='q "1"'),
    LogEntry(
        1_500_000, 1, "resize", 6, placement=PLACE, team=Team(2, 1, 6), team_before=Team(1, 1, 2)
    ),
    LogEntry(1_500_000, 1, "migrate", 6, placement=PLACE, left=Straggler(1, 2.5)),
    LogEntry(
        1_500_000, 2, "start", 6, placement=PLACE, forecast=GroupForecast(1.5, 2.5, 0.5, 0.1, 2)
    ),
    LogEntry(5 * SECOND_US, 0, "preempt", 6, placement=PLACE, others=OTHERS, queue=0),
    LogEntry(9 * SECOND_US, 0, "finish", 6, placement=PLACE, overhead_us=1_500_000),
]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: str(entry.event))
def test_a_line_is_its_document_encoded(entry: LogEntry) -> None:
    file = io.StringIO()
    DecisionWriter(file, JOBS, MACHINES)(entry)
    line = file.getvalue()
    document = json.loads(line)
    assert json.dumps(document, ensure_ascii=False) + "\n" == line
    assert document["job"] == JOBS[entry.job]
    named = [each["job"] for role in ("blockers", "taken_by") for each in document.get(role, ())]
    assert named == [JOBS[job] for job, _ in entry.others.first]


def test_entries_that_name_the_same_jobs_and_time_have_their_own_text() -> None:
    file = io.StringIO()
    write = DecisionWriter(file, JOBS, MACHINES)
    other = OtherJobs(((2, 2),), 1)
    for entry in (ENTRIES[1], ENTRIES[1]._replace(others=other), ENTRIES[1]._replace(time_us=0)):
        write(entry)
    lines = [json.loads(line) for line in file.getvalue().splitlines()]
    assert [line["time"] for line in lines] == [2.5, 2.5, 0]
    assert [line["blockers_total"] for line in lines] == [7, 1, 7]
    assert [line["blockers"][0]["job"] for line in lines] == [JOBS[1], JOBS[2], JOBS[1]]
