"""Jobs that configure themselves, on executors that are threads here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from in_process_cluster import InProcessCluster
from motet.cruise.trigger import Reason
from motet.domain.errors import BadInput
from motet.runtime.flight import Flight
from motet.runtime.job import Job
from motet.runtime.options import TrainOptions, TrainResult
from motet.runtime.pilot import Pilot
from slow_app import SlowRegression
from toy_app import ToyRegression

MACHINES = 4


def job(epochs: int, cluster: InProcessCluster | None = None, **changes: Any) -> Job:
    app = SlowRegression(batch_size=40)
    fields = {"machines": MACHINES, "workers": 1, "servers": 3, "epochs": epochs, **changes}
    rows = app.prepare(None, seed=1)
    return Job(app, rows, TrainOptions(**fields), cluster or InProcessCluster(MACHINES))


def driven(training: Job) -> tuple[TrainResult, Flight]:
    with Pilot(training) as pilot:
        return training.run(), pilot.flight


def test_a_bad_start_is_left_and_the_model_learned_is_the_same() -> None:
    expected = job(epochs=30).run()
    result, flight = driven(job(epochs=30))
    first = flight.turns[0]
    assert first.decision.reason is Reason.GAIN
    assert (first.decision.before.workers, first.decision.after.workers) == (1, 3)
    assert first.report is result.reconfigurations[0]
    assert (first.report.error, first.report.after.servers) == ("", 1)
    np.testing.assert_allclose(result.app.coef_, expected.app.coef_, rtol=1e-10, atol=1e-13)
    assert result.app.visits_.tolist() == [30.0] * 203


def test_every_epoch_is_noted_with_its_configuration_and_its_prediction() -> None:
    result, flight = driven(job(epochs=30))
    assert [each.epoch for each in flight.epochs] == list(range(30))
    assert [each.measured_s for each in flight.epochs] == [each.wall_s for each in result.epochs]
    before, after = flight.epochs[0], flight.epochs[-1]
    assert (before.roles.workers, before.predicted_s, before.is_steady) == (1, None, True)
    assert (after.roles.workers, after.is_steady) == (3, True)
    assert after.predicted_s == flight.turns[0].decision.predicted_s
    assert not all(each.is_steady for each in flight.epochs)


def test_a_change_that_fails_is_noted_and_training_goes_on() -> None:
    class Full(InProcessCluster):
        def launch(self, job: Any, machines: Any, secret: Any, app: Any) -> Any:
            if self.launches:
                raise AssertionError("all machines are in use")
            return super().launch(job, machines, secret, app)

    training = job(epochs=10, cluster=Full(MACHINES))
    training.reconfigure(lambda layout: 1 / 0)
    result, flight = driven(training)
    assert "ZeroDivisionError" in result.reconfigurations[0].error
    assert len(flight.epochs) == 10


def test_jobs_whose_mini_batches_have_no_common_end_are_refused() -> None:
    app = ToyRegression()
    options = TrainOptions(machines=2, workers=1, servers=1, epochs=1, consistency="async")
    asynchronous = Job(app, app.prepare(None, seed=1), options, InProcessCluster(2))
    with pytest.raises(BadInput, match="consistency=async"):
        Pilot(asynchronous)
