"""Futures of trainings whose size may change: they keep it, or nothing is foreseen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from motet.domain.units import SECOND_US
from motet.interfaces.forecasts.dry_run import DryRunQuestion, dry_run
from motet.interfaces.forecasts.expected_ends import expected_ends
from motet.interfaces.forecasts.expected_starts import simulated_futures, starts_in, within
from motet.interfaces.forecasts.followed_journal import FollowedJournal
from motet.interfaces.forecasts.futures import PossibleFutures
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy
from timed_trainings import TimedTraining, play_trainings

NOON_US = 1_700_000_000 * SECOND_US
NOW_US = NOON_US + 20 * SECOND_US
_TRAINING = {"name": "fit", "kind": "ps", "app": "mlr", "data": "digits", "workdir": "/"}
ON_MACHINES = {**_TRAINING, "machines": "any", "duration_s": 100.0}
SELF_SIZED = {**_TRAINING, "auto": True, "workers": {"min": 1, "max": 3}, "duration_s": 100.0}
COMMAND = {"name": "cmd", "run": "true", "workdir": "/", "processes": 3, "duration_s": 30.0}
BECAUSE = "harmony shares machines by what trainings measure while they run"


def journal_of(
    home: Path, policy: str, slots: tuple[int, ...], *trainings: TimedTraining
) -> FollowedJournal:
    """Of a cluster that has run these until NOW_US."""
    address = str(home / "journal.db")
    cluster = ClusterDeclared(tuple(f"m{each}" for each in range(len(slots))), slots)
    play_trainings(address, cluster, ChoosePolicy(policy), trainings, NOON_US, NOW_US)
    return FollowedJournal(address)


def dry(journal: FollowedJournal, spec: dict[str, Any]) -> dict[str, Any]:
    found = dry_run(journal, DryRunQuestion(spec, "ann", NOW_US))
    journal.close()
    return found


def sharing(second: float) -> TimedTraining:
    return TimedTraining(second, ON_MACHINES, 200, comp_s=0.3, comm_s=0.2)


def test_nothing_is_foreseen_while_harmony_may_share_machines(tmp_path: Path) -> None:
    lone = TimedTraining(4, {**COMMAND, "processes": 4}, 1, lambda *_: 30.0)
    blocked = TimedTraining(5, {**COMMAND, "processes": 4}, 1, lambda *_: 30.0)
    journal = journal_of(tmp_path, "harmony", (2, 2), sharing(0), lone, blocked)
    journal.read()
    futures = PossibleFutures(journal.cluster, NOW_US, 1)
    simulated = simulated_futures(futures, futures.waiting, within(20))
    starts = starts_in(futures, futures.waiting, simulated)
    journal.close()
    assert {each.because for each in starts.values()} == {BECAUSE}
    assert expected_ends(futures, simulated) == {}


def test_a_dry_run_tells_why_nothing_is_foreseen(tmp_path: Path) -> None:
    found = dry(journal_of(tmp_path, "harmony", (2, 2), sharing(0)), COMMAND)
    assert found["expected_start"]["unknown_because"] == BECAUSE
    assert (found["delayed"], found["delayed_unknown_because"]) == (None, BECAUSE)


def test_trainings_on_machines_have_them_alone_under_other_policies(tmp_path: Path) -> None:
    found = dry(journal_of(tmp_path, "fifo", (2, 2), sharing(0)), COMMAND)
    assert found["expected_start"]["high_s"] > 60
    assert found["delayed"] == []


def test_a_training_that_proposes_its_size_keeps_the_present_one(tmp_path: Path) -> None:
    """The command keeps it from growing; in a replay it would grow when that ends."""
    fit = TimedTraining(0, SELF_SIZED, 100, proposals={8: (3, 1, 0.5)})
    command = TimedTraining(1, COMMAND, 1, lambda *_: 30.0)
    journal = journal_of(tmp_path, "best-effort", (5,), fit, command)
    journal.read()
    futures = PossibleFutures(journal.cluster, NOW_US, 1)
    (*_, last) = futures.drawn(1, "never")
    journal.close()
    assert last.outcome.is_finished.all()
    assert last.outcome.columns["migrations"].tolist() == [0, 0]
