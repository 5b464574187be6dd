"""A job on executors that are threads here, over real sockets: what must hold for every
application.
"""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from in_process_cluster import InProcessCluster
from motet.domain.errors import BadInput, Interrupted, JobFailed
from motet.runtime.controller.job import Job
from motet.runtime.core.application import Step
from motet.runtime.core.consistency import Async, Consistency, Ssp
from motet.runtime.core.options import StopRule, TrainOptions
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport, Recovery, TrainResult
from motet.runtime.core.rows import Rows
from motet.runtime.worker.local_training import LocalTraining
from soak_cases import others_in_soak
from toy_app import ToyRegression


class Hook(TrainObserver):
    """Does something once, when a given mini-batch or epoch is reported."""

    def __init__(self, epoch: int, action: Callable[[], None]) -> None:
        self._epoch = epoch
        self._action = action
        self.recoveries: list[Recovery] = []
        self._is_done = False

    def epoch_done(self, report: EpochReport) -> None:
        if report.epoch_index == self._epoch and not self._is_done:
            self._is_done = True
            self._action()

    def recovering(self, recovery: Recovery) -> None:
        self.recoveries.append(recovery)


def options(workers: int, servers: int, epochs: int = 4, **changes: Any) -> TrainOptions:
    return TrainOptions(
        machines=max(workers, servers), workers=workers, servers=servers, epochs=epochs, **changes
    )


def train(
    wanted: TrainOptions,
    app: ToyRegression | None = None,
    cluster: InProcessCluster | None = None,
    observer: TrainObserver | None = None,
) -> TrainResult:
    app = app or ToyRegression()
    rows = app.prepare(None, seed=1)
    cluster = cluster or InProcessCluster(wanted.machines)
    return Job(app, rows, wanted, cluster, observer).run()


def locally(epochs: int = 4, **parameters: Any) -> tuple[ToyRegression, list[float]]:
    app = ToyRegression(**parameters)
    training = LocalTraining(app, app.prepare(None, seed=1), seed=0)
    losses = [report.loss for report in training.epochs(epochs)]
    app.adopt(training.model.values, training.final_rows())
    return app, losses


@pytest.mark.parametrize(("workers", "servers"), [(1, 1), (3, 2), (2, 4)])
@pytest.mark.parametrize(
    "parameters",
    others_in_soak(
        [{}, {"sparse": True}, {"partition": "hash"}, {"partition": "hash", "sparse": True}],
        [{}, {"partition": "hash", "sparse": True}],
    ),
)
def test_any_numbers_of_workers_and_servers_learn_the_same_model(
    workers: int, servers: int, parameters: dict[str, Any]
) -> None:
    expected, losses = locally(**parameters)
    result = train(options(workers, servers), ToyRegression(**parameters))
    np.testing.assert_allclose(result.app.coef_, expected.coef_, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(result.losses, losses, rtol=1e-10)


def test_the_same_configuration_gives_the_same_bits() -> None:
    hashes = {train(options(3, 2)).model_sha256 for _ in range(3)}
    assert len(hashes) == 1


def test_every_instance_is_computed_once_per_epoch() -> None:
    result = train(options(3, 2, epochs=5))
    assert result.app.visits_.tolist() == [5.0] * 203


def test_more_workers_than_instances_in_a_batch_still_work() -> None:
    result = train(options(4, 1, epochs=2), ToyRegression(batch_size=2))
    expected, _ = locally(2, batch_size=2)
    np.testing.assert_allclose(result.app.coef_, expected.coef_, rtol=1e-10)


@pytest.mark.parametrize("consistency", [Ssp(2), Async()])
def test_looser_consistency_still_learns(consistency: Consistency) -> None:
    result = train(options(3, 2, epochs=12, consistency=consistency))
    assert result.losses[-1] < 0.1 * result.losses[0]
    assert result.app.visits_.tolist() == [12.0] * 203


def test_training_stops_when_the_loss_is_reached() -> None:
    _, losses = locally(10)
    result = train(options(2, 1, epochs=50, until=StopRule("loss", losses[5] * 1.000001)))
    assert len(result.epochs) == 6


def test_times_and_bytes_are_reported() -> None:
    report = train(options(2, 2)).epochs[-1]
    batches = len(report.batch_s)
    assert batches == 11
    assert report.bytes_pulled == report.bytes_pushed == 2 * batches * 40 * 8
    assert report.comp_s > 0
    assert report.comm_s > 0


@pytest.mark.parametrize("victim", others_in_soak([0, 1, 2], [1]))
def test_a_lost_executor_does_not_change_the_model(victim: int) -> None:
    wanted = options(2, 2, epochs=8, checkpoint_every=3)
    wanted = TrainOptions(**{**vars(wanted), "machines": 3})
    undisturbed = train(wanted)
    cluster = InProcessCluster(3)
    hook = Hook(4, lambda: cluster.executors[victim].crash())
    result = train(wanted, cluster=cluster, observer=hook)
    assert result.model_sha256 == undisturbed.model_sha256
    assert result.losses == undisturbed.losses
    assert [recovery.resumed_from_epoch for recovery in result.recoveries] == [3]
    assert cluster.launches == [[0, 1, 2], [victim]]


def test_a_crash_before_the_first_checkpoint_starts_over() -> None:
    cluster = InProcessCluster(2)
    hook = Hook(1, lambda: cluster.executors[1].crash())
    wanted = options(2, 1, epochs=4, checkpoint_every=10)
    result = train(wanted, cluster=cluster, observer=hook)
    assert result.model_sha256 == train(wanted).model_sha256
    assert hook.recoveries == list(result.recoveries)


class RandomStart(ToyRegression):
    """Starts from random values; `made`: whether each model that it has returned still exists."""

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.made: list[weakref.ref[NDArray[Any]]] = []

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "made": []}  # Executors make no first model.

    def initial_model(self, rows: Any, seed: int) -> NDArray[Any]:
        del rows
        model = np.random.default_rng(seed).random((self.features, 1))
        self.made.append(weakref.ref(model))
        return model


def test_the_first_model_is_not_kept_and_made_again_after_a_crash() -> None:
    wanted = options(2, 1, epochs=4, checkpoint_every=10)
    undisturbed = train(wanted, RandomStart())
    app, cluster = RandomStart(), InProcessCluster(2)
    is_kept: list[bool] = []

    def crash() -> None:
        gc.collect()
        is_kept.append(app.made[0]() is not None)
        cluster.executors[1].crash()

    result = train(wanted, app, cluster=cluster, observer=Hook(1, crash))
    assert is_kept == [False]
    assert [recovery.resumed_from_epoch for recovery in result.recoveries] == [0]
    assert len(app.made) == 2
    assert (result.model_sha256, result.losses) == (undisturbed.model_sha256, undisturbed.losses)


def test_a_job_that_keeps_crashing_gives_up() -> None:
    cluster = InProcessCluster(2)

    class Saboteur(TrainObserver):
        def epoch_done(self, report: EpochReport) -> None:
            if report.epoch_index == 0:
                cluster.executors[0].crash()

    with pytest.raises(JobFailed, match="gave up after 2 recoveries without progress"):
        train(options(2, 1, max_recoveries=2), cluster=cluster, observer=Saboteur())


def test_a_resumed_job_continues_on_other_numbers_of_executors(tmp_path: Path) -> None:
    whole = train(options(3, 2, epochs=6))
    train(options(3, 2, epochs=3, checkpoint_every=2, checkpoint_dir=tmp_path))
    result = train(options(1, 4, epochs=6, checkpoint_dir=tmp_path, resume=True))
    assert result.resumed_from_epoch == 3
    assert len(result.losses) == 6
    np.testing.assert_allclose(result.app.coef_, whole.app.coef_, rtol=1e-10)
    assert result.app.visits_.tolist() == [6.0] * 203


def test_the_time_of_a_resumed_run_is_that_of_all_its_parts(tmp_path: Path) -> None:
    fields = {"checkpoint_dir": tmp_path, "checkpoint_every": 1}
    train(options(1, 1, epochs=2, spent_s=1000.0, **fields))
    manifest = json.loads((tmp_path / "epoch-000002" / "manifest.json").read_text())
    assert 1000 < manifest["spent_s"] < 1100

    result = train(options(1, 1, epochs=3, spent_s=2000.0, resume=True, **fields))
    assert 2000 < result.wall_s < 2100


def test_resuming_a_converged_job_starts_nothing(tmp_path: Path) -> None:
    rule = StopRule("loss", 1e9)
    train(options(2, 1, checkpoint_dir=tmp_path, until=rule))
    cluster = InProcessCluster(2)
    wanted = options(2, 1, checkpoint_dir=tmp_path, until=rule, resume=True)
    assert len(train(wanted, cluster=cluster).losses) == 1
    assert cluster.launches == []


def test_a_fresh_run_forgets_the_checkpoints_of_an_earlier_one(tmp_path: Path) -> None:
    train(options(1, 1, epochs=9, checkpoint_dir=tmp_path, checkpoint_every=3))
    train(options(1, 1, epochs=2, checkpoint_dir=tmp_path))
    result = train(options(1, 1, epochs=3, checkpoint_dir=tmp_path, resume=True))
    assert result.resumed_from_epoch == 2


def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(tmp_path: Path) -> None:
    whole = train(options(2, 1, epochs=4))
    train(options(2, 1, epochs=2, checkpoint_dir=tmp_path, checkpoint_every=1))
    newest = tmp_path / "epoch-000002" / "arrays.npz"
    newest.write_bytes(newest.read_bytes()[:-10])
    result = train(options(2, 1, epochs=4, checkpoint_dir=tmp_path, resume=True))
    assert result.resumed_from_epoch == 1
    assert result.model_sha256 == whole.model_sha256


def test_more_workers_than_data_blocks_are_refused() -> None:
    with pytest.raises(BadInput, match="make 16 data blocks"):
        train(options(17, 1), ToyRegression(batch_size=2))


def test_other_data_of_the_same_size_is_another_job(tmp_path: Path) -> None:
    train(options(1, 1, epochs=1, checkpoint_dir=tmp_path))
    app = ToyRegression()
    wanted = options(1, 1, checkpoint_dir=tmp_path, resume=True)
    with pytest.raises(
        BadInput, match=r"the data differ from those of the run \(203 instances, other values\)"
    ):
        Job(app, app.prepare(None, seed=2), wanted, InProcessCluster(1)).run()


def test_resuming_another_job_is_refused(tmp_path: Path) -> None:
    train(options(1, 1, epochs=1, checkpoint_dir=tmp_path))
    with pytest.raises(BadInput, match="seed was 0, is now 5"):
        train(options(1, 1, seed=5, checkpoint_dir=tmp_path, resume=True))


def test_only_the_parameters_that_differ_are_named(tmp_path: Path) -> None:
    train(options(1, 1, epochs=1, checkpoint_dir=tmp_path))
    wanted = options(1, 1, checkpoint_dir=tmp_path, resume=True)
    with pytest.raises(BadInput, match=r"another job: batch_size was \d+, is now 7; choose"):
        train(wanted, ToyRegression(batch_size=7))


def test_a_checkpoint_with_more_epochs_than_asked_for_is_refused(tmp_path: Path) -> None:
    train(options(1, 1, epochs=4, checkpoint_dir=tmp_path))
    with pytest.raises(BadInput, match="already has 4 epochs, more than epochs=3; raise --epochs"):
        train(options(1, 1, epochs=3, checkpoint_dir=tmp_path, resume=True))


def test_an_error_in_the_application_fails_the_job_with_its_message() -> None:
    with pytest.raises(JobFailed, match=r"toy_app.py:\d+ in compute: ZeroDivisionError: the"):
        train(options(2, 1), ToyRegression(fail_at_clock=7))


class FailingApply(ToyRegression):
    def apply(self, values: NDArray[Any], delta: NDArray[Any], step: Step) -> None:
        raise ZeroDivisionError("a bug at the server")


def test_an_error_of_the_update_function_names_its_place_too() -> None:
    with pytest.raises(JobFailed, match=r"test_job.py:\d+ in apply: ZeroDivisionError: a bug at"):
        train(options(2, 1), FailingApply())


def test_a_job_that_diverges_says_so() -> None:
    with (
        pytest.warns(RuntimeWarning, match=" encountered in "),
        pytest.raises(JobFailed, match="diverged"),
    ):
        train(options(2, 1, epochs=300), ToyRegression(learning_rate=1e30))


def test_a_cancelled_job_ends() -> None:
    app = ToyRegression()
    rows = app.prepare(None, seed=1)
    observer = Hook(1, lambda: job.cancel())
    job = Job(app, rows, options(2, 1, epochs=10_000), InProcessCluster(2), observer)
    with pytest.raises(Interrupted):
        job.run()


def test_machines_are_free_before_the_fitted_model_is_made() -> None:
    """So another job may have them meanwhile."""
    happened: list[str] = []

    class Told(TrainObserver):
        def freed(self) -> None:
            ended = [each.is_dead for each in cluster.executors.values()]
            happened.append(f"freed: {ended}")

    class Fitted(ToyRegression):
        def adopt(self, model: NDArray[np.float64], rows: Rows) -> None:
            happened.append("fitted")
            super().adopt(model, rows)

    cluster = InProcessCluster(2)
    train(options(2, 1), Fitted(), cluster, Told())
    assert happened == ["freed: [True, True]", "fitted"]


def test_a_suspended_job_continues_to_the_same_model(tmp_path: Path) -> None:
    app = ToyRegression()
    rows = app.prepare(None, seed=1)
    undisturbed = train(options(3, 2, epochs=6))
    kept = replace(options(3, 2, epochs=6), checkpoint_dir=tmp_path, checkpoint_every=100)
    job = Job(app, rows, kept, InProcessCluster(3), Hook(2, lambda: job.suspend()))
    with pytest.raises(Interrupted, match="stopped"):
        job.run()
    again = Job(ToyRegression(), rows, replace(kept, resume=True), InProcessCluster(3)).run()
    assert again.model_sha256 == undisturbed.model_sha256


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"workers": 3}, "workers=3: must be between 1 and machines=2"),
        ({"servers": 0}, "servers=0"),
        ({"epochs": 0}, "epochs=0"),
        ({"worker_batch_size": 0}, "worker_batch_size=0"),
        ({"checkpoint_every": 0}, "checkpoint_every=0"),
        ({"lost_after_s": 0.5}, "lost_after=0.5: must be between 1 and 1000000 seconds"),
        ({"lost_after_s": float("nan")}, "lost_after=nan"),
    ],
)
def test_options_that_cannot_work_are_refused(changes: dict[str, int], message: str) -> None:
    fields = {"machines": 2, "workers": 1, "servers": 1, "epochs": 1, **changes}
    with pytest.raises(BadInput, match=message):
        TrainOptions(**fields)
