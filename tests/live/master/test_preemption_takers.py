"""On the live cluster, too, no job is preempted unless another one gets slots at that moment.

All drivers: tests/engine/test_preemption_takers.py.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.units import SECOND_US
from motet.live.jobs.job_file import job_spec
from motet.live.journal.store import JournalStore
from motet.live.master.cluster_changes import DrainMachine, ResumeMachine
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy, Input
from motet.live.master.master import Master
from motet.live.master.requests import Workplace
from motet.live.master.submissions.submission import Submit
from motet.live.queues.queue_changes import CreateQueue
from soak_cases import others_in_soak
from timed_master import play

CLUSTER = ClusterDeclared(("m0", "m1", "m2"), (3, 2, 2))
POLICIES: dict[str, dict[str, str]] = {
    "best-effort": {},
    "sf": {"min_runtime": "4"},
    "srtf": {},
    "tiresias-las": {"thresholds": "4,20"},
    "drf": {},
    "optimus": {"interval_s": "5"},
    "slaq": {"epoch_s": "5"},
}
jobs = st.tuples(st.integers(0, 20), st.integers(1, 30), st.integers(1, 4), st.booleans())
"""Submission and seconds of training, slots, and whether it is in the queue with a guarantee."""
drains = st.none() | st.tuples(st.integers(1, 20), st.none() | st.integers(1, 20))
"""When a machine is drained, and how much later it takes jobs again."""


def drain_inputs(machine: str, drawn: tuple[int, int | None] | None) -> list[tuple[int, Input]]:
    if drawn is None:
        return []
    from_s, for_s = drawn
    found: list[tuple[int, Input]] = [(from_s * SECOND_US, DrainMachine(machine, "disk", "ann"))]
    if for_s is not None:
        found.append(((from_s + for_s) * SECOND_US, ResumeMachine(machine, "ann")))
    return found


def submission(row: tuple[int, int, int, bool]) -> Submit:
    _, length_s, slots, is_guaranteed = row
    queue = "vision" if is_guaranteed else "default"
    values: dict[str, Any] = {"name": "job", "run": "true", "workdir": "/", "processes": slots}
    return Submit(job_spec({**values, "queue": queue, "duration_s": length_s}), "ann")


@pytest.mark.parametrize("policy", others_in_soak(POLICIES, ["tiresias-las"]))
@settings(max_examples=examples(60))
@given(
    rows=st.lists(jobs, min_size=1, max_size=10).map(sorted),
    guarantee=st.integers(0, 4),
    machines=st.tuples(drains, drains, drains),
)
def test_the_slots_of_a_preempted_job_go_to_another_one(
    policy: str, rows: Any, guarantee: int, machines: Any
) -> None:
    first = (0, SECOND_US, 1)
    others: list[tuple[int, Input]] = [
        (0, CreateQueue("vision", "ann", {"guarantee": guarantee})),
        *((row[0] * SECOND_US, submission(row)) for row in rows),
    ]
    for name, drawn in zip(CLUSTER.names, machines, strict=True):
        others += drain_inputs(name, drawn)
    lengths_us = [SECOND_US, *(row[1] * SECOND_US for row in rows)]
    with tempfile.TemporaryDirectory() as home, JournalStore(f"{home}/journal.db") as store:
        play(
            store,
            CLUSTER,
            [first],
            ChoosePolicy(policy, POLICIES[policy]),
            others,
            100 * SECOND_US,
            declares=True,
            needed_us=dict(enumerate(lengths_us, 1)),
        )
        state = Master(store, CLUSTER, Workplace(Path(home), {}), lambda: 0).state
        entries = [entry for job in state.jobs for entry in state.history.of(job)]
    assert len(state.jobs) == len(lengths_us)
    assert [each for each in entries if each.event == "preempt" and not each.others.total] == []
