"""Trainings that propose their own size: the engine allocates, the journal has it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from motet.domain.events import Event, Resized, SizeProposed, event_from_json
from motet.live.jobs.attempt import StopCause
from motet.live.jobs.job import ProposedSize
from motet.live.jobs.job_state import JobState
from motet.live.launcher.messages import AttemptProposed, SizeWish
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import Change, ChoosePolicy
from motet.live.queues.queue_changes import LimitQueue
from scripted_cluster import ScriptedCluster

SELF_SIZED = {
    "auto": True,
    "workers": {"min": 1, "max": 6},
    "servers": {"min": 1, "max": 2},
}
EIGHT_SLOTS = ClusterDeclared(("m0", "m1"), (4, 4))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path, cluster=EIGHT_SLOTS)
    yield found
    found.close()


def proposal(attempt: str, workers: int, servers: int, number: int = 1) -> AttemptProposed:
    return AttemptProposed(attempt, SizeWish(number, workers, servers, 0.25))


def running(cluster: ScriptedCluster, **more: Any) -> int:
    """A training that runs with the size that it begins with."""
    job = cluster.train(**SELF_SIZED, **more)
    cluster.ask(cluster.launcher.started(f"{job}.1"))
    return job


def sizes(cluster: ScriptedCluster, job: int) -> list[tuple[int, int]]:
    """Workers and servers of every attempt."""
    return [(each.workers, each.servers) for each in cluster.job(job).attempts]


def recorded(cluster: ScriptedCluster, *kinds: type[Event]) -> list[Event]:
    assert cluster.store is not None
    records = [json.loads(record.events) for record in cluster.store.records()]
    events = [event_from_json(each) for events in records for each in events]
    return [event for event in events if isinstance(event, kinds)]


def refusals(cluster: ScriptedCluster, job: int) -> list[str]:
    """Why it runs with less than it proposed, one after the other."""
    return [each.refusal for each in cluster.master.state.history.of(job) if each.refusal]


def moved(cluster: ScriptedCluster, job: int) -> None:
    """The processes end at the end of the epoch, and the next attempt runs."""
    attempt = len(cluster.job(job).attempts)
    cluster.ask(cluster.launcher.ended(f"{job}.{attempt}", 75, "stopped"))
    cluster.ask(cluster.launcher.started(f"{job}.{attempt + 1}"))


def test_a_training_begins_with_its_least_and_gets_what_it_proposes(
    cluster: ScriptedCluster,
) -> None:
    job = running(cluster)
    assert sizes(cluster, job) == [(1, 1)]
    cluster.ask(proposal("1.1", 4, 2))
    assert cluster.launcher.stopping == {"1.1"}
    moved(cluster, job)
    assert sizes(cluster, job) == [(1, 1), (4, 2)]
    assert cluster.job(job).attempts[0].stop_cause is StopCause.RESIZED
    assert recorded(cluster, SizeProposed, Resized) == [
        SizeProposed(job, 4, 2, 0.25),
        Resized(job, cluster.now_us, 10_000, 10_000, cluster.now_us),
    ]
    events = [each.event for each in cluster.master.state.history.of(job)]
    assert events == ["start", "propose", "resize"]


def test_a_smaller_proposal_frees_slots_at_once(cluster: ScriptedCluster) -> None:
    job = running(cluster)
    cluster.ask(proposal("1.1", 6, 2))
    moved(cluster, job)
    other = cluster.submit(2)
    assert cluster.job(other).state is JobState.PENDING
    cluster.ask(proposal("1.2", 3, 1))
    cluster.handle()
    moved(cluster, job)
    assert sizes(cluster, job)[-1] == (3, 1)
    assert cluster.job(other).state is JobState.STARTING


def test_a_proposal_outside_the_bounds_is_held_to_them(cluster: ScriptedCluster) -> None:
    job = running(cluster)
    cluster.ask(proposal("1.1", 60, 20))
    moved(cluster, job)
    assert sizes(cluster, job)[-1] == (6, 2)


def test_waiting_jobs_get_free_slots_first_and_the_proposal_stays_open(
    cluster: ScriptedCluster,
) -> None:
    job = running(cluster)
    small, large = cluster.submit(2), cluster.submit(5)
    cluster.ask(proposal("1.1", 4, 1))
    assert (sizes(cluster, job), cluster.launcher.stopping) == ([(1, 1)], set())
    assert refusals(cluster, job) == ["others_wait"]
    cluster.ask(Change(large, "cancel", "ann"))
    assert cluster.launcher.stopping == {"1.1"}
    moved(cluster, job)
    assert sizes(cluster, job)[-1] == (4, 1)
    assert cluster.job(small).state is JobState.STARTING


def test_the_decision_log_forgets_the_refusal_of_a_job_that_has_ended(
    cluster: ScriptedCluster,
) -> None:
    job = running(cluster)
    cluster.submit(5)
    cluster.ask(proposal("1.1", 4, 2))
    known = cluster.master._replayed._log._refused
    assert list(known) == [job]
    cluster.ask(cluster.launcher.ended("1.1"))
    assert cluster.job(job).state is JobState.SUCCEEDED
    assert known == {}


def test_a_growth_covers_at_least_half_of_what_is_missing(cluster: ScriptedCluster) -> None:
    job = running(cluster)
    cluster.submit(5)
    cluster.ask(proposal("1.1", 4, 2))  # One slot is free, four are missing.
    assert (cluster.launcher.stopping, refusals(cluster, job)) == (set(), ["too_few_gpus"])
    cluster.ask(cluster.launcher.ended("2.1"))
    cluster.submit(4)
    moved(cluster, job)
    assert sizes(cluster, job)[-1] == (4, 2)


def test_a_training_takes_no_more_than_the_limit_of_its_queue(cluster: ScriptedCluster) -> None:
    cluster.ask(LimitQueue("default", "ann", {"guarantee": 2, "borrow": 1}))
    job = running(cluster)
    cluster.ask(proposal("1.1", 5, 1))
    assert (cluster.launcher.stopping, refusals(cluster, job)) == (set(), ["queue_limit"])
    cluster.ask(LimitQueue("default", "ann", {"borrow": None}))
    assert cluster.launcher.stopping == {"1.1"}


def test_a_policy_that_divides_slots_itself_has_the_last_word(tmp_path: Path) -> None:
    cluster = ScriptedCluster(tmp_path, ChoosePolicy("fair"), EIGHT_SLOTS)
    one, two = running(cluster), running(cluster)
    cluster.ask(proposal("1.1", 6, 2))
    assert cluster.launcher.stopping == {"1.1"}
    moved(cluster, one)
    assert sum(sizes(cluster, one)[-1]) == 6
    assert refusals(cluster, one) == ["chosen_by_policy"]
    cluster.ask(proposal("2.1", 6, 2))
    while cluster.launcher.stopping:
        attempt = min(cluster.launcher.stopping)
        cluster.ask(cluster.launcher.ended(attempt, 75, "stopped"))
        for each in cluster.launcher.running.keys() - cluster.launcher.stopping:
            cluster.ask(cluster.launcher.started(each))
    assert [sum(sizes(cluster, job)[-1]) for job in (one, two)] == [4, 4]
    cluster.close()


def test_a_preempted_training_begins_again_as_soon_as_its_least_fits(tmp_path: Path) -> None:
    cluster = ScriptedCluster(tmp_path, ChoosePolicy("srtf"), EIGHT_SLOTS)
    job = cluster.train(**SELF_SIZED, duration_s=1000)
    cluster.ask(cluster.launcher.started("1.1"))
    cluster.ask(proposal("1.1", 6, 2))
    moved(cluster, job)
    cluster.submit(5, duration_s=10)
    cluster.handle()
    cluster.ask(cluster.launcher.ended("1.2", 75, "stopped"))
    assert sizes(cluster, job) == [(1, 1), (6, 2), (1, 2)]
    cluster.close()


@pytest.mark.parametrize("moment", ["proposed", "stopping", "starting", "running"])
def test_a_kill_of_the_master_loses_and_doubles_nothing(tmp_path: Path, moment: str) -> None:
    cluster = ScriptedCluster(tmp_path, cluster=EIGHT_SLOTS)
    job, told = running(cluster), proposal("1.1", 3, 1)
    moments = {
        "proposed": lambda: cluster.ask(told),
        "stopping": lambda: cluster.ask(cluster.launcher.ended("1.1", 75, "stopped")),
        "starting": lambda: cluster.ask(cluster.launcher.started("1.2")),
    }
    for name, happens in moments.items():
        if name == moment:
            cluster.begin()
            cluster.handle(told)  # The launcher tells everything again.
        happens()
    cluster.begin()
    cluster.handle(told)
    assert sizes(cluster, job) == [(1, 1), (3, 1)]
    assert recorded(cluster, SizeProposed) == [SizeProposed(job, 3, 1, 0.25)]
    assert len(recorded(cluster, Resized)) == 1
    held = sum(sum(each.placement.counts) for each in [cluster.job(job).attempts[-1]])
    assert held == 4
    cluster.close()


def test_a_training_that_is_lost_while_it_is_resized_continues_with_its_proposal(
    cluster: ScriptedCluster,
) -> None:
    job = running(cluster)
    cluster.ask(proposal("1.1", 4, 2))
    cluster.ask(cluster.launcher.ended("1.1", None, "lost"))
    cluster.ask(cluster.launcher.ended("1.2", None, "lost"))
    cluster.until_started(job)
    assert sizes(cluster, job) == [(1, 1), (4, 2), (4, 2)]


def test_the_journal_leads_to_the_same_state_in_every_moment(tmp_path: Path) -> None:
    cluster = ScriptedCluster(tmp_path, cluster=EIGHT_SLOTS)
    job = running(cluster)
    cluster.submit(4)
    for happens in (
        lambda: cluster.ask(proposal("1.1", 5, 2)),
        lambda: cluster.ask(cluster.launcher.ended("2.1")),
        lambda: moved(cluster, job),
        lambda: cluster.ask(proposal("1.2", 2, 1)),
    ):
        happens()
        before = [*cluster.master.state.history.of(job)]
        columns = cluster.master._engine.state.table.row(job)
        cluster.replay()
        assert [*cluster.master.state.history.of(job)] == before
        assert cluster.master._engine.state.table.row(job) == columns
    cluster.close()


def test_proposals_of_a_training_that_is_being_stopped_or_has_fixed_numbers_change_nothing(
    cluster: ScriptedCluster,
) -> None:
    job = running(cluster)
    cluster.ask(proposal("1.1", 3, 1))
    cluster.ask(proposal("1.1", 6, 2, number=2))
    told = cluster.job(job).proposal
    assert told == ProposedSize(1, 1, 3, 1, 0.25, cluster.now_us - 1_000_000)
    fixed = cluster.train(workers=1, servers=1, auto=True)
    cluster.ask(cluster.launcher.started(f"{fixed}.1"))
    cluster.ask(proposal(f"{fixed}.1", 3, 1))
    assert cluster.job(fixed).proposal is None
