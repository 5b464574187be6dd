"""Queues with limits on the live master: journalled, kept over restarts, obeyed, explained."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.errors import BadInput
from motet.domain.queues.queue_limits import QueueLimits
from motet.interfaces.server.queue_routes import queue_documents
from motet.interfaces.server.stories.explanation import why_waiting
from motet.live.jobs.job_state import JobState
from motet.live.master.intake import Change
from motet.live.master.job_updates import UpdateJob
from motet.live.queues.queue_changes import (
    CreateQueue,
    DefineQueues,
    DeleteQueue,
    LimitQueue,
    SetQueueMode,
)
from scripted_cluster import ScriptedCluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    """Four slots."""
    found = ScriptedCluster(tmp_path)
    yield found
    found.close()


def documents(cluster: ScriptedCluster, *names: str) -> list[list[Any]]:
    return [[each[name] for name in names] for each in queue_documents(cluster.master.state)]


def test_a_limit_holds_and_survives_a_restart(cluster: ScriptedCluster) -> None:
    cluster.ask(CreateQueue("ml", "ann", {"guarantee": 1, "borrow": 1}))
    runs, waits = cluster.submit(2, queue="ml"), cluster.submit(1, queue="ml")
    for _ in range(2):
        assert cluster.job(runs).state is JobState.STARTING
        assert why_waiting(cluster.master.state, cluster.job(waits)) == (
            "QueueLimitReached",
            "queue ml may hold 2 slots and holds 2: job 1 (2 slots); needs 1 slot (place 1 in "
            "line)",
        )
        assert documents(cluster, "name", "slots", "guarantee", "borrow", "lend", "borrowed") == [
            ["default", 0, 0, None, None, 0],
            ["ml", 2, 1, 1, None, 1],
        ]
        cluster.replay()
    cluster.ask(LimitQueue("ml", "ann", {"borrow": None}))
    assert cluster.job(waits).state is JobState.STARTING


def test_a_guarantee_is_taken_back_from_those_who_borrow(cluster: ScriptedCluster) -> None:
    cluster.ask(DefineQueues({"default": QueueLimits(1), "ml": QueueLimits(2)}))
    jobs = [cluster.submit() for _ in range(4)]
    wanted = cluster.submit(2, queue="ml")
    assert cluster.launcher.stopping == {f"{jobs[2]}.1", f"{jobs[3]}.1"}
    for attempt in sorted(cluster.launcher.stopping):
        cluster.ask(cluster.launcher.ended(attempt, 0, "stopped"))
    assert cluster.job(wanted).state is JobState.STARTING
    assert cluster.job(jobs[3]).state is JobState.PREEMPTED
    name, sentence = why_waiting(cluster.master.state, cluster.job(jobs[3]))
    assert name == "GuaranteedToOthers"
    assert sentence.startswith("queue default has a guarantee of 1 slot and holds 2, and the rest")


def test_jobs_that_never_fit_are_refused_with_the_limit(cluster: ScriptedCluster) -> None:
    cluster.ask(CreateQueue("ml", "ann", {"guarantee": 1, "borrow": 1}))
    with pytest.raises(BadInput, match="processes: 3, but a job of queue ml gets 2 slots at most"):
        cluster.submit(3, queue="ml")
    cluster.ask(CreateQueue("web", "ann", {"guarantee": 2, "lend": 0}))
    with pytest.raises(BadInput, match="guarantee 0; other queues keep 2 slots"):
        cluster.submit(3)
    job = cluster.submit(2)
    cluster.ask(LimitQueue("ml", "ann", {"borrow": 0}))
    with pytest.raises(BadInput, match="job 1 needs 2, but a job of queue ml gets 1 slot at most"):
        cluster.ask(UpdateJob(job, "ann", queue="ml"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            CreateQueue("ml", "ann", {"guarantee": 5}),
            "ml 5\\) are 5 slots together; the cluster has 4",
        ),
        (
            CreateQueue("ml", "ann", {"guarantee": 1, "lend": 2}),
            "lend: 2 is more than its guarantee",
        ),
        (CreateQueue("ml", "ann", {"guarantee": -1}), "queue ml: guarantee: -1"),
        (LimitQueue("ml", "ann", {"guarantee": 1}), "unknown queue 'ml'"),
        (SetQueueMode("ml", "ann", "held"), "unknown queue 'ml'"),
        (DeleteQueue("default", "ann"), "cannot be deleted"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(
    cluster: ScriptedCluster, given: Any, message: str
) -> None:
    before = queue_documents(cluster.master.state)
    with pytest.raises(BadInput, match=message):
        cluster.ask(given)
    assert queue_documents(cluster.master.state) == before


def test_a_held_queue_starts_nothing_and_a_draining_one_takes_nothing(
    cluster: ScriptedCluster,
) -> None:
    runs = cluster.submit()
    cluster.ask(SetQueueMode("default", "ann", "held"))
    waits = cluster.submit()
    cluster.replay()
    assert why_waiting(cluster.master.state, cluster.job(waits))[0] == "QueueOnHold"
    assert cluster.job(runs).attempt is not None
    cluster.ask(SetQueueMode("default", "ann", "draining"))
    assert cluster.job(waits).state is JobState.STARTING
    with pytest.raises(BadInput, match="queue default is draining and takes no further jobs"):
        cluster.submit()
    cluster.ask(SetQueueMode("default", "ann", "open"))
    cluster.submit()


def test_a_queue_without_jobs_is_deleted_and_may_come_again(cluster: ScriptedCluster) -> None:
    cluster.ask(CreateQueue("ml", "ann", {"guarantee": 2}))
    job = cluster.submit(queue="ml")
    with pytest.raises(BadInput, match="queue ml has jobs that have not ended"):
        cluster.ask(DeleteQueue("ml", "ann"))
    cluster.ask(Change(job, "cancel", "ann"))
    cluster.ask(cluster.launcher.ended("1.1", 0, "stopped"))
    cluster.ask(DeleteQueue("ml", "ann"))
    assert documents(cluster, "name") == [["default"]]
    with pytest.raises(BadInput, match="unknown queue 'ml'"):
        cluster.submit(queue="ml")
    cluster.submit(4)
    cluster.ask(CreateQueue("ml", "ann"))
    cluster.replay()
    assert documents(cluster, "name", "guarantee") == [["default", 0], ["ml", 0]]


VERBS = st.sampled_from(["cancel", "suspend", "resume"])


@settings(max_examples=examples(30))
@given(data=st.data())
def test_counts_of_jobs_are_those_of_all_jobs(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """They are kept from fact to fact, and the page does not read all jobs."""
    cluster = ScriptedCluster(tmp_path_factory.mktemp("journal"))
    cluster.ask(CreateQueue("ml", "ann"))
    for _ in range(data.draw(st.integers(1, 25))):
        jobs, running = [*cluster.master.state.jobs], sorted(cluster.launcher.running)
        queue = data.draw(st.sampled_from(["default", "ml"]))
        match data.draw(st.integers(0, 3)):
            case 0 if jobs:
                cluster.handle(Change(data.draw(st.sampled_from(jobs)), data.draw(VERBS), "ann"))
            case 1 if jobs:
                cluster.handle(UpdateJob(data.draw(st.sampled_from(jobs)), "ann", queue=queue))
            case 2 if running:
                code = data.draw(st.integers(0, 1))
                cluster.ask(cluster.launcher.ended(data.draw(st.sampled_from(running)), code))
            case _:
                cluster.submit(data.draw(st.integers(1, 3)), queue=queue)
    every = cluster.master.state.jobs.values()
    for name, slots, running_jobs, waiting in documents(
        cluster, "name", "slots", "running", "waiting"
    ):
        mine = [job for job in every if job.spec.queue == name]
        held = [job.attempt.processes for job in mine if job.attempt is not None]
        assert (slots, running_jobs) == (sum(held), len(held))
        assert waiting == sum(job.attempt is None and not job.state.is_final for job in mine)
    cluster.close()
