"""Futures of trainings whose size may change: they keep it, or nothing is foreseen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from motet.domain.units import SECOND_US
from motet.interfaces.forecasts.dry_runs.dry_run import DryRunQuestion, dry_run
from motet.interfaces.forecasts.followed_journal import FollowedJournal
from motet.interfaces.forecasts.follower import predict_starts
from motet.interfaces.forecasts.futures import PossibleFutures
from motet.interfaces.forecasts.prediction_store import PredictionStore
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy
from timed_trainings import TimedTraining, play_trainings

NOON_US = 1_700_000_000 * SECOND_US
NOW_US = NOON_US + 20 * SECOND_US
_TRAINING = {"name": "fit", "kind": "ps", "app": "mlr", "data": "digits", "workdir": "/"}
ON_MACHINES = {**_TRAINING, "machines": "any", "duration_s": 100.0}
SELF_SIZED = {**_TRAINING, "auto": True, "workers": {"min": 1, "max": 3}, "duration_s": 100.0}
COMMAND = {"name": "cmd", "run": "true", "workdir": "/", "processes": 3, "duration_s": 30.0}


def journal_of(
    home: Path, policy: str, slots: tuple[int, ...], *trainings: TimedTraining
) -> FollowedJournal:
    """Of a cluster that has run these until NOW_US."""
    address = str(home / "journal.db")
    cluster = ClusterDeclared(tuple(f"m{each}" for each in range(len(slots))), slots)
    chosen = ChoosePolicy(policy, {"check_s": "5"} if policy == "harmony" else {})
    play_trainings(address, cluster, chosen, trainings, NOON_US, NOW_US)
    return FollowedJournal(address)


def dry(journal: FollowedJournal, spec: dict[str, Any]) -> dict[str, Any]:
    found = dry_run(journal, DryRunQuestion(spec, "ann", NOW_US))
    journal.close()
    return found


def sharing(second: float) -> TimedTraining:
    """An epoch has five iterations: alone on two machines it takes 2 s."""
    return TimedTraining(second, {**ON_MACHINES, "epochs": 20}, 20, comp_s=0.4, comm_s=0.2)


BECAUSE = "harmony shares machines by what trainings measure while they run"


def test_a_server_tells_nothing_while_trainings_may_share_machines(tmp_path: Path) -> None:
    waits = [sharing(0), sharing(1), sharing(2)]
    journal = journal_of(tmp_path, "harmony", (2, 2), *waits)
    store = PredictionStore(tmp_path)
    found = predict_starts(journal, store, NOW_US)
    store.close()
    assert {each["unknown_because"] for each in found["starts"].values()} == {BECAUSE}
    assert found["ends"] == {}
    told = dry(journal, COMMAND)
    assert told["expected_start"]["unknown_because"] == BECAUSE
    assert (told["delayed"], told["delayed_unknown_because"]) == (None, BECAUSE)


def test_nothing_is_told_of_a_new_training_that_would_share_machines(tmp_path: Path) -> None:
    command = TimedTraining(0, COMMAND, 1, lambda *_: 30.0)
    told = dry(journal_of(tmp_path, "harmony", (2, 2), command), ON_MACHINES)
    assert told["expected_start"]["unknown_because"] == BECAUSE
    assert (told["run_time_s"], told["delayed"]) == (None, None)


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
