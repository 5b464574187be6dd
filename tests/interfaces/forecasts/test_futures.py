"""Futures of trainings whose size may change: they keep it, or share machines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from motet.domain.units import NEVER_US, SECOND_US
from motet.interfaces.forecasts.dry_run import DryRunQuestion, dry_run
from motet.interfaces.forecasts.expected_ends import ExpectedEnd, expected_ends
from motet.interfaces.forecasts.expected_starts import (
    ExpectedStart,
    simulated_futures,
    starts_in,
    within,
)
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
    home: Path,
    policy: str,
    slots: tuple[int, ...],
    *trainings: TimedTraining,
    until_us: int = NOW_US,
) -> FollowedJournal:
    """Of a cluster that has run these until then."""
    address = str(home / "journal.db")
    cluster = ClusterDeclared(tuple(f"m{each}" for each in range(len(slots))), slots)
    chosen = ChoosePolicy(policy, {"check_s": "5"} if policy == "harmony" else {})
    play_trainings(address, cluster, chosen, trainings, NOON_US, until_us)
    return FollowedJournal(address)


def dry(journal: FollowedJournal, spec: dict[str, Any]) -> dict[str, Any]:
    found = dry_run(journal, DryRunQuestion(spec, "ann", NOW_US))
    journal.close()
    return found


def sharing(second: float, epochs: int = 20, **more: Any) -> TimedTraining:
    """An epoch has five iterations: alone on two machines it takes 2 s."""
    job = {**_TRAINING, "machines": "any", "epochs": epochs, **more}
    return TimedTraining(second, job, epochs, comp_s=0.4, comm_s=0.2)


def blocked(second: float) -> TimedTraining:
    return TimedTraining(second, {**COMMAND, "processes": 4}, 1, lambda *_: 30.0)


def foreseen(
    journal: FollowedJournal,
) -> tuple[dict[int, ExpectedStart], dict[int, ExpectedEnd], tuple[int, ...]]:
    """Starts and ends from NOW_US on, and the jobs of which nothing is known."""
    journal.read(NOW_US)
    futures = PossibleFutures(
        journal.cluster, NOW_US, 1, measured=journal.measured, tells_sharing=True
    )
    simulated = simulated_futures(futures, futures.waiting, within(60))
    starts = starts_in(futures, futures.waiting, simulated)
    return starts, expected_ends(futures, simulated), futures.unknown


CROWD = [sharing(0, 60), sharing(1, 30), sharing(2, 20), sharing(3, 40), sharing(9, 40)]


@pytest.mark.parametrize(
    ("made", "waiting"),
    [
        ([sharing(0)], set()),
        ([sharing(0), sharing(1), sharing(2)], {3}),
        ([sharing(0), sharing(1, 30), blocked(5)], {1, 2}),
        (CROWD, {2, 4, 5}),
    ],
    ids=["alone", "three", "command", "crowd"],
)
def test_starts_and_ends_under_harmony_come_about_as_foreseen(
    tmp_path: Path, made: list[TimedTraining], waiting: set[int]
) -> None:
    """All trainings run the same program: which of those that wait is the next one hangs on the
    last digits of what they measured. Stops wait for the ends of epochs here."""
    journal = journal_of(tmp_path, "harmony", (2, 2), *made, until_us=NEVER_US)
    starts, ends, unknown = foreseen(journal)
    journal.read()
    jobs = journal.cluster.state.jobs
    journal.close()
    assert (starts.keys(), unknown) == (waiting, ())
    for number, start in starts.items():
        times = (it.requested_us for it in jobs[number].attempts)
        really_us = next(it for it in times if it >= NOW_US)
        assert start.is_known
        assert is_within(really_us, start.low_us, start.high_us)
    assert ends.keys() == jobs.keys()
    for number, end in ends.items():
        assert is_within(jobs[number].ended_us or 0, end.low_us, end.high_us)


def is_within(at_us: int, low_us: int | None, high_us: int | None) -> bool:
    """The range, a fifth of the time until its end wider on both sides; None: beyond the futures,
    which end when all waiting jobs have started."""
    assert low_us is not None
    if high_us is None:
        return at_us >= low_us
    more_us = (high_us - NOW_US) // 5
    return low_us - more_us <= at_us <= high_us + more_us


def test_nothing_is_foreseen_after_trainings_of_which_nothing_is_known(tmp_path: Path) -> None:
    job = {**_TRAINING, "machines": "any"}
    endless = [TimedTraining(each, job, 200, comp_s=0.4, comm_s=0.2) for each in (0, 1)]
    journal = journal_of(tmp_path, "harmony", (2, 2), *endless, sharing(2))
    starts, ends, unknown = foreseen(journal)
    journal.close()
    assert unknown == (1, 2)
    assert starts[3].because == "nothing is known of how long job 1, job 2 will run"
    assert [(each.median_us, each.high_us) for each in ends.values()] == [(None, None)]


BECAUSE = "harmony shares machines by what trainings measure while they run"


def test_a_server_tells_nothing_while_trainings_may_share_machines(tmp_path: Path) -> None:
    """On a real journal the ranges held 10 of 26 starts."""
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


def test_trainings_on_machines_have_them_alone_under_other_policies(tmp_path: Path) -> None:
    found = dry(journal_of(tmp_path, "fifo", (2, 2), sharing(0, duration_s=100.0)), COMMAND)
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
