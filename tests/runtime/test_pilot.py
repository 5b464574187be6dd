"""Jobs that configure themselves, on executors that are threads here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from in_process_cluster import InProcessCluster
from motet.cruise.trigger import Reason
from motet.domain.errors import BadInput
from motet.runtime.flight import Flight
from motet.runtime.job import Job
from motet.runtime.local import LocalTraining
from motet.runtime.options import EpochReport, TrainObserver, TrainOptions, TrainResult
from motet.runtime.pilot import Pilot
from slow_app import SlowRegression
from toy_app import ToyRegression

MACHINES = 4


def job(epochs: int, cluster: InProcessCluster | None = None, **changes: Any) -> Job:
    app = SlowRegression(comp_s_per_instance=3e-3, batch_size=40)
    fields = {"machines": MACHINES, "workers": 1, "servers": 3, "epochs": epochs, **changes}
    rows = app.prepare(None, seed=1)
    return Job(app, rows, TrainOptions(**fields), cluster or InProcessCluster(MACHINES))


def driven(training: Job) -> tuple[TrainResult, Flight]:
    with Pilot(training) as pilot:
        result = training.run()
    assert pilot.failure == ""
    return result, pilot.flight


def locally(epochs: int) -> ToyRegression:
    app = ToyRegression(batch_size=40)
    training = LocalTraining(app, app.prepare(None, seed=1), seed=0)
    list(training.epochs(epochs))
    app.adopt(training.model.values, training.final_rows())
    return app


def test_a_bad_start_is_left_and_the_model_learned_is_the_same() -> None:
    epochs = 15
    result, flight = driven(job(epochs))
    first, expected = next(turn for turn in flight.turns if turn.report), locally(epochs)
    assert (first.decision.reason, first.decision.before.workers) == (Reason.GAIN, 1)
    assert first.decision.after.workers > 1
    assert first.report is result.reconfigurations[0]
    assert (first.report.error, first.report.after.workers) == ("", first.decision.after.workers)
    np.testing.assert_allclose(result.app.coef_, expected.coef_, rtol=1e-10, atol=1e-13)
    assert result.app.visits_.tolist() == [float(epochs)] * 203
    check_notes(result, flight)


def check_notes(result: TrainResult, flight: Flight) -> None:
    """Every epoch with its configuration and its prediction."""
    assert [each.epoch for each in flight.epochs] == [each.epoch for each in result.epochs]
    assert [each.measured_s for each in flight.epochs] == [each.wall_s for each in result.epochs]
    before, after = flight.epochs[0], flight.epochs[-1]
    assert (before.roles.workers, before.predicted_s) == (1, None)
    assert (after.roles.workers, after.predicted_s) == (
        flight.turns[-1].decision.after.workers,
        [t for t in flight.turns if t.report][-1].decision.predicted_s,
    )
    assert not all(each.is_steady for each in flight.epochs)


def test_a_change_that_fails_is_noted_and_training_goes_on() -> None:
    training = job(epochs=3)
    training.reconfigure(lambda layout: 1 / 0)
    result, flight = driven(training)
    assert "ZeroDivisionError" in result.reconfigurations[0].error
    assert len(flight.epochs) == 3


def test_jobs_whose_mini_batches_have_no_common_end_are_refused() -> None:
    app = ToyRegression()
    options = TrainOptions(machines=2, workers=1, servers=1, epochs=1, consistency="async")
    asynchronous = Job(app, app.prepare(None, seed=1), options, InProcessCluster(2))
    with pytest.raises(BadInput, match="consistency=async"):
        Pilot(asynchronous)


class Script(TrainObserver):
    """Does something after the second epoch."""

    def __init__(self, action: Callable[[], object]) -> None:
        self._action = action

    def epoch_done(self, report: EpochReport) -> None:
        if report.epoch == 1:
            self._action()


def disturbed(
    action: Callable[[InProcessCluster], object], epochs: int, roles: tuple[int, int]
) -> tuple[TrainResult, Flight]:
    cluster = InProcessCluster(sum(roles))
    training = job(epochs, cluster, machines=sum(roles), workers=roles[0], servers=roles[1])
    training.listen(Script(lambda: action(cluster)))
    result, flight = driven(training)
    np.testing.assert_allclose(result.app.coef_, locally(epochs).coef_, rtol=1e-10, atol=1e-13)
    assert result.app.visits_.tolist() == [float(epochs)] * 203
    return result, flight


def test_machines_that_appear_are_put_to_work() -> None:
    result, flight = disturbed(lambda cluster: (cluster.gain(), cluster.gain()), 14, (1, 1))
    assert flight.turns[-1].decision.machines == 4
    assert result.reconfigurations[-1].after.workers > 1


def test_machines_that_will_be_taken_away_are_left_and_nothing_is_trained_again() -> None:
    result, flight = disturbed(lambda cluster: cluster.give_notice(0), 12, (3, 1))
    assert next(t.decision.reason for t in flight.turns if t.report) is Reason.DRAIN
    assert result.recoveries == ()
    assert flight.turns[-1].decision.machines == 3


def test_after_the_loss_of_a_machine_it_goes_on_deciding_for_the_others() -> None:
    result, flight = disturbed(lambda cluster: cluster.lose(0), 14, (3, 1))
    assert len(result.recoveries) == 1
    assert flight.turns[-1].decision.machines == 3
    assert [each.epoch for each in flight.epochs] == list(range(14))
