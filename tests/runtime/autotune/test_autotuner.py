"""Jobs that configure themselves, on executors that are threads here."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from in_process_cluster import InProcessCluster
from motet.cruise.calibration.machine_groups import CandidateMachine
from motet.cruise.decision import TuningReason
from motet.cruise.search.solver import compile_search
from motet.domain.errors import BadInput
from motet.domain.reconfiguration import Add, Plan
from motet.runtime.autotune.autotuner import Autotuner, pause_after
from motet.runtime.autotune.debounce import MachineDebounce, leaving_machines
from motet.runtime.autotune.history import TuningHistory, TuningRecord
from motet.runtime.controller.job import Job
from motet.runtime.controller.reconfiguration.plan_queue import PlanMaker, Reconfiguration
from motet.runtime.core.consistency import Async
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport, TrainResult
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.wire.messages import RequestKind
from motet.runtime.worker.local_training import LocalTraining
from slow_app import SlowRegression
from toy_app import ToyRegression

MACHINES = 4


@pytest.fixture(scope="module", autouse=True)
def compiled_search() -> None:
    """Jobs of these tests are too short to wait for a compilation."""
    compile_search()


def job(epochs: int, cluster: InProcessCluster | None = None, **changes: Any) -> Job:
    app = SlowRegression(comp_s_per_instance=3e-3, batch_size=40)
    fields = {"machines": MACHINES, "workers": 1, "servers": 3, "epochs": epochs, **changes}
    rows = app.prepare(None, seed=1)
    return Job(app, rows, TrainOptions(**fields), cluster or InProcessCluster(MACHINES))


def driven(
    training: Job,
    on_decision: Callable[[TuningRecord], None] | None = None,
    debounce: MachineDebounce | None = None,
) -> tuple[TrainResult, TuningHistory]:
    debounce = debounce or MachineDebounce(notices_s=0, machines_s=0)
    with Autotuner(training, on_decision, debounce) as autotuner:
        result = training.run()
    assert autotuner.failure == ""
    return result, autotuner.history


def locally(epochs: int) -> ToyRegression:
    app = ToyRegression(batch_size=40)
    training = LocalTraining(app, app.prepare(None, seed=1), seed=0)
    list(training.epochs(epochs))
    app.adopt(training.model.values, training.final_rows())
    return app


def test_a_bad_start_is_left_and_the_model_learned_is_the_same() -> None:
    epochs = 15
    result, history = driven(job(epochs))
    first, expected = next(record for record in history.decisions if record.report), locally(epochs)
    assert (first.decision.reason, first.decision.before.workers) == (TuningReason.GAIN, 1)
    assert first.decision.after.workers > 1
    assert first.report is result.reconfigurations[0]
    assert (first.report.error, first.report.after.workers) == ("", first.decision.after.workers)
    np.testing.assert_allclose(result.app.coef_, expected.coef_, rtol=1e-10, atol=1e-13)
    assert result.app.visits_.tolist() == [float(epochs)] * 203
    check_epochs(result, history)


def check_epochs(result: TrainResult, history: TuningHistory) -> None:
    """Every epoch with its configuration and its prediction."""
    assert [each.epoch for each in history.epochs] == [each.epoch_index for each in result.epochs]
    assert [each.measured_s for each in history.epochs] == [each.wall_s for each in result.epochs]
    before, after = history.epochs[0], history.epochs[-1]
    assert (before.roles.workers, before.predicted_s) == (1, None)
    assert (after.roles.workers, after.predicted_s) == (
        history.decisions[-1].decision.after.workers,
        [record for record in history.decisions if record.report][-1].decision.predicted_s,
    )
    assert not all(each.is_steady for each in history.epochs)


@pytest.mark.soak
def test_a_worker_that_was_left_without_data_does_not_keep_it_from_deciding() -> None:
    training = job(15, workers=1, servers=2)
    training.reconfigure(Plan.of([Add(3, "worker")]))
    result, history = driven(training)
    assert result.reconfigurations[0].after.workers == 2
    assert TuningReason.GAIN in [record.decision.reason for record in history.decisions]


def test_a_change_that_fails_is_noted_and_training_goes_on() -> None:
    training = job(epochs=3)
    training.reconfigure(lambda layout: 1 / 0)
    result, history = driven(training)
    assert "ZeroDivisionError" in result.reconfigurations[0].error
    assert len(history.epochs) == 3


def test_jobs_whose_mini_batches_have_no_common_end_are_refused() -> None:
    app = ToyRegression()
    options = TrainOptions(machines=2, workers=1, servers=1, epochs=1, consistency=Async())
    asynchronous = Job(app, app.prepare(None, seed=1), options, InProcessCluster(2))
    with pytest.raises(BadInput, match="consistency=async"):
        Autotuner(asynchronous)


class Script(TrainObserver):
    """Does something after an epoch."""

    def __init__(self, action: Callable[[], object], epoch: int = 1) -> None:
        self._action = action
        self._epoch = epoch

    def epoch_done(self, report: EpochReport) -> None:
        if report.epoch_index == self._epoch:
            self._action()


def disturbed(
    action: Callable[[InProcessCluster], object], epochs: int, roles: tuple[int, int]
) -> tuple[TrainResult, TuningHistory]:
    cluster = InProcessCluster(sum(roles))
    training = job(epochs, cluster, machines=sum(roles), workers=roles[0], servers=roles[1])
    training.listen(Script(lambda: action(cluster)))
    result, history = driven(training)
    np.testing.assert_allclose(result.app.coef_, locally(epochs).coef_, rtol=1e-10, atol=1e-13)
    assert result.app.visits_.tolist() == [float(epochs)] * 203
    return result, history


def test_machines_that_appear_are_put_to_work() -> None:
    result, history = disturbed(lambda cluster: (cluster.gain(), cluster.gain()), 14, (1, 1))
    assert history.decisions[-1].decision.machines == 4
    assert result.reconfigurations[-1].after.workers > 1


def test_machines_that_will_be_taken_away_are_left_and_nothing_is_trained_again() -> None:
    result, history = disturbed(lambda cluster: cluster.give_notice(0), 12, (3, 1))
    assert (
        next(record.decision.reason for record in history.decisions if record.report)
        is TuningReason.DRAIN
    )
    assert result.recoveries == ()
    assert history.decisions[-1].decision.machines == 3


@pytest.mark.soak
def test_after_the_loss_of_a_machine_it_goes_on_deciding_for_the_others() -> None:
    result, history = disturbed(lambda cluster: cluster.lose(0), 14, (3, 1))
    assert len(result.recoveries) == 1
    assert history.decisions[-1].decision.machines == 3
    assert [each.epoch for each in history.epochs] == list(range(14))


class UntilTwoLeave(MachineDebounce):
    """Waits until two machines leave."""

    def observe(self, machines: Iterable[CandidateMachine], now_s: float) -> None:
        del now_s
        self._count = len(leaving_machines(machines))

    def is_stable(self, now_s: float, *, must_leave: bool) -> bool:
        del now_s
        return self._count == 2 if must_leave else self._count == 0


@pytest.mark.soak
def test_machines_whose_notices_come_one_by_one_are_left_together() -> None:
    cluster = InProcessCluster(MACHINES)
    training = job(epochs=18, cluster=cluster, workers=3, servers=1)
    training.listen(Script(lambda: cluster.give_notice(0), epoch=2))
    training.listen(Script(lambda: cluster.give_notice(1), epoch=4))
    result, history = driven(training, debounce=UntilTwoLeave())
    drains = [
        record for record in history.decisions if record.decision.reason is TuningReason.DRAIN
    ]
    assert [record.decision.machines for record in drains] == [2]
    assert result.recoveries == ()


class WatchedJob(Job):
    """Remembers the urgent reconfigurations that it was asked for."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._asking = threading.Lock()
        self._urgent: list[Reconfiguration] = []

    @property
    def urgent(self) -> list[Reconfiguration]:
        with self._asking:
            return list(self._urgent)

    def reconfigure(
        self,
        plan: Plan | PlanMaker,
        predicted_gain: float | None = None,
        *,
        is_urgent: bool = False,
    ) -> Reconfiguration:
        with self._asking:
            wanted = super().reconfigure(plan, predicted_gain, is_urgent=is_urgent)
            if is_urgent:
                self._urgent.append(wanted)
        return wanted


@pytest.mark.soak
def test_a_drain_is_overtaken_when_more_machines_are_to_be_left() -> None:
    # The first drain cannot prepare its moves of data before it is cut short.
    def hold(executor: int, kind: int) -> None:
        deadline_s = time.monotonic() + 60
        while kind == RequestKind.PREPARE_WORK and not all(
            it.is_cancelled for it in training.urgent[:1]
        ):
            assert time.monotonic() < deadline_s, "nothing overtakes the first drain"
            time.sleep(0.01)

    def more(record: TuningRecord) -> None:
        if record.decision.reason is TuningReason.DRAIN and record.decision.machines == 3:
            cluster.give_notice(1)

    cluster = InProcessCluster(MACHINES, hold)
    app = SlowRegression(comp_s_per_instance=3e-3, batch_size=40)
    options = TrainOptions(machines=MACHINES, workers=3, servers=1, epochs=20)
    training = WatchedJob(app, app.prepare(None, seed=1), options, cluster)
    training.listen(Script(lambda: cluster.give_notice(0)))
    layouts: list[JobLayout] = []
    training.listen(LastLayout(training, layouts))
    result, history = driven(training, more)
    records = [
        record for record in history.decisions if record.decision.reason is TuningReason.DRAIN
    ]
    assert [record.decision.machines for record in records] == [3, 2]
    assert [each.state for each in training.urgent] == ["cancelled", "done"]
    assert not {0, 1} & set(layouts[-1].executors)
    assert result.recoveries == ()


class LastLayout(TrainObserver):
    """Notes who does what at the end of every epoch."""

    def __init__(self, training: Job, layouts: list[JobLayout]) -> None:
        self._training = training
        self._layouts = layouts

    def epoch_done(self, report: EpochReport) -> None:
        self._layouts.append(self._training.layout)


@pytest.mark.parametrize(("decided_s", "pause_s"), [(0.0, 0.5), (0.1, 2.0), (40.0, 10.0)])
def test_long_decisions_lengthen_the_pause_between_checks_up_to_a_limit(
    decided_s: float, pause_s: float
) -> None:
    assert pause_after(decided_s) == pytest.approx(pause_s)
