"""Expected starts where jobs wait for machines that take none, under policies that decide again and
again by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from motet.domain.units import SECOND_US
from motet.interfaces.forecasts.draws.future import HOUR_US, Check, TooMuch
from motet.interfaces.forecasts.dry_runs.dry_run import DryRunQuestion, dry_run
from motet.interfaces.forecasts.expected_starts import expected_starts
from motet.interfaces.forecasts.followed_journal import FollowedJournal
from motet.interfaces.forecasts.futures import Foresight, PossibleFutures
from motet.live.master.cluster_changes import DrainMachine
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy
from motet.live.queues.queue_changes import CreateQueue, SetQueueMode
from motet.sim.replay import progress_watch
from scripted_cluster import ScriptedCluster

RESTLESS = ChoosePolicy("tiresias-las", {"thresholds": "", "quantum_s": "60"})
JOB = {"name": "new", "run": "true", "workdir": "/", "duration_s": 10.0}
DRAINED = "4 of 8 slots are on drained machines"
IDLE = """
from dataclasses import dataclass
import numpy as np
from motet.domain.decision import Decision, Reasons
from motet.domain.policy import Policy

@dataclass(frozen=True)
class Idle(Policy):
    def decide(self, snapshot):
        none = np.zeros(len(snapshot.jobs), np.int64)
        reasons = Reasons(none + 1, none, np.arange(len(none)))
        return Decision(none, reasons, recheck_at_us=snapshot.now_us + 60_000_000)

POLICIES = {"idle": Idle}
"""
"""A policy that starts no job and decides again every minute."""
Begin = Callable[[ChoosePolicy], ScriptedCluster]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """A cluster of two machines with 4 slots each, of which the second one is drained."""
    found: list[ScriptedCluster] = []

    def with_policy(policy: ChoosePolicy) -> ScriptedCluster:
        cluster = ScriptedCluster(tmp_path, policy, ClusterDeclared(("m0", "m1"), (4, 4)))
        found.append(cluster)
        cluster.ask(DrainMachine("m1", "disk", "ann"))
        return cluster

    yield with_policy
    for each in found:
        each.close()


def journal_of(cluster: ScriptedCluster) -> FollowedJournal:
    journal = FollowedJournal(str(cluster.folder / "journal.db"))
    journal.read()
    return journal


def futures_of(cluster: ScriptedCluster) -> PossibleFutures:
    journal = journal_of(cluster)
    futures = PossibleFutures(journal.cluster, cluster.now_us, 1, None, Foresight.PRESENT)
    journal.close()
    return futures


def up_to(most_work: int) -> Check:
    """Simulations that would not end are cut."""
    done = 0

    def check(work: int) -> None:
        nonlocal done
        done += work
        if done > most_work:
            raise TooMuch

    return check


def dry(cluster: ScriptedCluster, **more: Any) -> dict[str, Any]:
    journal = journal_of(cluster)
    question = DryRunQuestion({**JOB, **more}, "ann", cluster.now_us)
    found = dry_run(journal, question, foresight=Foresight.DECLARED)
    journal.close()
    return found


@pytest.mark.parametrize("policy", [ChoosePolicy("best-effort"), RESTLESS])
def test_a_job_larger_than_the_open_machines_waits_for_them_and_no_other_job_does(
    begin: Begin, policy: ChoosePolicy
) -> None:
    cluster = begin(policy)
    cluster.submit(processes=4, duration_s=100)
    large = cluster.submit(processes=8)
    small = cluster.submit(processes=4, duration_s=100)
    futures = futures_of(cluster)
    found = expected_starts(futures, frozenset({large, small}), up_to(20_000_000))
    assert (found[large].because, found[large].is_known) == (DRAINED, False)
    assert found[small].is_known


def test_a_job_behind_one_that_waits_for_drained_machines_hears_of_them(begin: Begin) -> None:
    cluster = begin(ChoosePolicy("fifo"))
    cluster.submit(processes=8, duration_s=100)
    behind = cluster.submit(processes=1, duration_s=100)
    found = expected_starts(futures_of(cluster), frozenset({behind}), up_to(20_000_000))
    assert found[behind].because == DRAINED


def test_a_machine_that_is_gone_is_not_called_drained(begin: Begin) -> None:
    cluster = begin(ChoosePolicy("fifo"))
    cluster.submit(processes=8, duration_s=100)
    futures = futures_of(cluster)
    futures._live.state.drains.of.clear()
    assert futures.closed == "4 of 8 slots are on machines that are drained, closed or gone"


@pytest.mark.parametrize("policy", [ChoosePolicy("best-effort"), RESTLESS])
def test_a_dry_run_says_that_slots_are_on_drained_machines(
    begin: Begin, policy: ChoosePolicy
) -> None:
    cluster = begin(policy)
    cluster.submit(processes=4, duration_s=100)
    found = dry(cluster, processes=8)
    assert found["expected_start"]["unknown_because"] == DRAINED
    assert found["delayed"] == []
    assert dry(cluster, processes=8, array="0-1")["last_start"]["unknown_because"] == DRAINED


CLOCKED = ChoosePolicy("tiresias-las", {"thresholds": "40"})


@pytest.mark.parametrize("policy", [ChoosePolicy("fifo"), CLOCKED])
def test_a_job_of_a_queue_on_hold_hears_of_it_and_keeps_no_other_from_a_prediction(
    begin: Begin, policy: ChoosePolicy
) -> None:
    cluster = begin(policy)
    cluster.ask(CreateQueue("ml", "ann", {}))
    cluster.ask(SetQueueMode("ml", "ann", "held"))
    cluster.submit(processes=4, duration_s=100)
    held = cluster.submit(processes=1, queue="ml")
    waits = cluster.submit(processes=4, duration_s=100)
    work: list[int] = []
    found = expected_starts(futures_of(cluster), frozenset({held, waits}), work.append)
    assert (found[held].because, found[held].is_known) == ("queue ml is on hold", False)
    assert found[waits].is_known
    assert sum(work) < 1000 * 200 * 19
    assert dry(cluster, queue="ml")["expected_start"]["unknown_because"] == "queue ml is on hold"


def test_a_future_is_over_when_nothing_has_run_for_an_hour(begin: Begin) -> None:
    cluster = begin(RESTLESS)
    cluster.submit(processes=4, duration_s=100)
    cluster.submit(processes=8)
    *_, last = futures_of(cluster).drawn(0, "never")
    assert last.outcome.is_finished.tolist() == [True, False]
    assert last.outcome.times_us[-1] - cluster.now_us < 3 * HOUR_US


def test_a_policy_that_decides_without_end_is_too_much_to_simulate(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its job could start: no machine and no queue keeps it from that."""
    monkeypatch.setattr(progress_watch, "FUTILE_DECISIONS", 20)
    path = tmp_path / "idle.py"
    path.write_text(IDLE)
    cluster = begin(ChoosePolicy(str(path)))
    cluster.submit(processes=4)
    with pytest.raises(TooMuch):
        list(futures_of(cluster).drawn(0, "never"))


def test_what_is_simulated_for_ends_alone_has_a_limit(begin: Begin) -> None:
    """An hour has 3,600 decisions, in each future."""
    cluster = begin(ChoosePolicy("tiresias-las", {"thresholds": "", "quantum_s": "1"}))
    cluster.submit(processes=4, duration_s=100_000)
    cluster.now_us += 10 * SECOND_US
    work: list[int] = []
    expected_starts(futures_of(cluster), frozenset(), work.append)
    assert 0 < sum(work) < 1000 * 200 * 19
