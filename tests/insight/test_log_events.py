"""Events of the story are the same from an entry of the log as from its line in the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from elastic_workloads import elastic_workload, rows_on
from example_count import examples
from motet.domain.cluster import ClusterSpec
from motet.domain.log_entry import LogEntry
from motet.engine.journal.decision_log import DecisionLog
from motet.engine.policy_loading.catalogue import built_in_policies
from motet.insight.log_events import story_event
from motet.report.cluster_run.decision_reader import story_events_of
from motet.report.cluster_run.decision_writer import DecisionWriter
from motet.sim.experiment import Experiment
from soak_cases import others_in_soak

CLUSTER = ClusterSpec.of([4, 2], names=("big", "small"))


@pytest.mark.parametrize(
    "policy",
    others_in_soak(
        built_in_policies(), ["fifo", "gandiva", "harmony", "slaq", "themis", "tiresias-las"]
    ),
)
@settings(max_examples=examples(10), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=rows_on(6))
def test_an_entry_reads_as_the_line_that_is_written_for_it(
    policy: str, rows: Any, tmp_path: Path
) -> None:
    workload = elastic_workload(rows)
    entries: list[LogEntry] = []
    path = tmp_path / "decisions.jsonl"
    with path.open("w") as file:
        write = DecisionWriter(file, workload.ids, CLUSTER.names)

        def note(entry: LogEntry) -> None:
            entries.append(entry)
            write(entry)

        Experiment(policy, {"preemption_cost": "1.5"}).run(
            workload, CLUSTER, journal=DecisionLog(note)
        )
    for number, job in enumerate(workload.ids):
        own = [
            story_event(entry, lambda each: workload.ids[each], CLUSTER.names)
            for entry in entries
            if entry.job == number
        ]
        assert own == story_events_of(path, job)
