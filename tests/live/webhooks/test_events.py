"""Events of webhooks follow from the journal alone, and have the same ids in every reading."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.live.journal.reading import JournalReader
from motet.live.launcher.messages import ClusterSeen, MachineSeen
from motet.live.master.cluster_changes import DrainMachine, ResumeMachine
from motet.live.master.facts import AttemptIdle, ClusterDeclared
from motet.live.master.intake import Change
from motet.live.webhooks.events import KINDS, WebhookEvent, events_of_record
from scripted_cluster import ScriptedCluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path, cluster=ClusterDeclared((), (), joins=True))
    found.ask(ClusterSeen((MachineSeen("m0", 2, True), MachineSeen("m1", 2, True))))
    yield found
    found.close()


def events(cluster: ScriptedCluster, job: int | None = None) -> list[WebhookEvent]:
    with JournalReader(str(cluster.folder / "journal.db")) as reader:
        found = [event for record in reader.records() for event in events_of_record(record)]
    return [each for each in found if each.job == job]


def test_a_life_of_a_job(cluster: ScriptedCluster) -> None:
    job = cluster.submit(retry={"max_attempts": 2})
    cluster.ask(cluster.launcher.started("1.1"))
    cluster.ask(AttemptIdle(job, 1, cluster.now_us))
    cluster.ask(AttemptIdle(job, 1, None))
    cluster.ask(cluster.launcher.ended("1.1", 3))
    cluster.until_started(job)
    cluster.ask(cluster.launcher.started("1.2"))
    cluster.ask(cluster.launcher.ended("1.2"))

    found = events(cluster, job)

    assert [(each.kind, dict(each.fields)) for each in found] == [
        ("job.submitted", {}),
        ("attempt.started", {"attempt": 1}),
        ("job.idle", {"attempt": 1}),
        (
            "attempt.ended",
            {
                "attempt": 1,
                "outcome": "failed",
                "failure": "other",
                "reason": "the process exited with status 3",
            },
        ),
        ("attempt.started", {"attempt": 2}),
        ("attempt.ended", {"attempt": 2, "outcome": "succeeded", "failure": None, "reason": ""}),
        ("job.ended", {"state": "SUCCEEDED", "failure": None, "reason": ""}),
    ]
    assert found == events(cluster, job)
    assert len({each.id for each in found}) == len(found)
    assert {each.kind for each in found} <= set(KINDS)


def test_what_users_do_with_jobs(cluster: ScriptedCluster) -> None:
    first = cluster.submit()
    waits = cluster.submit(after=[first])
    for verb in ("suspend", "resume", "cancel"):
        cluster.ask(Change(first, verb, "ann"))
    told = [(each.kind, dict(each.fields)) for each in events(cluster, first)]
    assert told[1:4] == [
        ("job.suspended", {"user": "ann"}),
        ("job.resumed", {"user": "ann"}),
        (
            "job.ended",
            {"state": "CANCELLED", "failure": None, "reason": "cancelled by ann"},
        ),
    ]
    cluster.ask(cluster.launcher.ended("1.1"))
    (_, end) = events(cluster, waits)
    assert (end.kind, end.fields["state"]) == ("job.ended", "CANCELLED")


def test_what_happens_to_machines(cluster: ScriptedCluster) -> None:
    cluster.ask(DrainMachine("m1", "new disk", "ann"))
    cluster.ask(ResumeMachine("m1", "ann"))
    cluster.ask(ClusterSeen((MachineSeen("m0", 2, True),)))
    told = [(each.kind, each.fields["machine"]) for each in events(cluster)]
    assert told == [
        ("machine.changed", "m0"),
        ("machine.changed", "m1"),
        ("machine.drained", "m1"),
        ("machine.resumed", "m1"),
        ("machine.changed", "m1"),
    ]
