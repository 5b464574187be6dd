"""Idle workers compute for late ones while blocks move and executors die."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from held_back import Gate, Ledger, cluster_with, held_back
from in_process_cluster import InProcessCluster
from motet.domain.errors import BadInput
from motet.runtime.autotune.load_balancer import LoadBalancer
from motet.runtime.controller.job import Job
from motet.runtime.core.consistency import Async
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport, TrainResult
from motet.runtime.wire.messages import RequestKind
from random_plans import RandomPlans
from soak_cases import others_in_soak
from toy_app import ToyRegression

MACHINES, LATE, EPOCHS = 5, 1, 12


class Restless(TrainObserver):
    """Asks for a random plan after every epoch but the last ones."""

    def __init__(self) -> None:
        self._plans = RandomPlans(3, MACHINES)
        self.job: Job | None = None

    def epoch_done(self, report: EpochReport) -> None:
        assert self.job is not None
        if report.epoch_index < EPOCHS - 4:
            self.job.reconfigure(self._plans)


class Deadly(Gate):
    """An executor crashes when `asked` is asked something for the n-th time."""

    def __init__(self, asked: int, kind: RequestKind, nth: int, victim: int) -> None:
        super().__init__(LATE)
        self._deadly = asked, kind
        self._left = nth
        self._victim = victim
        self.cluster = InProcessCluster(MACHINES, self.on_request)
        self.crashes: list[threading.Thread] = []

    def on_request(self, executor: int, kind: int) -> None:
        super().on_request(executor, kind)
        if (executor, kind) != self._deadly:
            return
        with self._changed:
            self._left -= 1
            if self._left:
                return
            crash = self.cluster.executors[self._victim].crash
            self.crashes.append(threading.Thread(target=crash))
            self.crashes[-1].start()


def options(stragglers: str, workers: int = 3) -> TrainOptions:
    return TrainOptions(
        machines=MACHINES,
        workers=workers,
        servers=2,
        epochs=EPOCHS,
        checkpoint_every=4,
        stragglers="help" if stragglers == "help" else "ignore",
    )


def train(
    gate: Gate, cluster: InProcessCluster, observer: TrainObserver | None = None
) -> TrainResult:
    app = held_back(ToyRegression(batch_size=100), gate, Ledger())
    job = Job(app, app.prepare(None, seed=1), options("help"), cluster, observer)
    if isinstance(observer, Restless):
        observer.job = job
    return job.run()


def assert_right(result: TrainResult) -> None:
    app = ToyRegression(batch_size=100)
    still = Job(app, app.prepare(None, seed=1), options("ignore"), InProcessCluster(MACHINES)).run()
    np.testing.assert_allclose(result.app.coef_, still.app.coef_, rtol=1e-10, atol=1e-13)
    assert result.app.visits_.tolist() == [float(EPOCHS)] * 203


def test_every_instance_is_computed_once_per_epoch_while_blocks_and_roles_change() -> None:
    gate = Gate(LATE)
    result = train(gate, cluster_with(gate, MACHINES), Restless())
    assert_right(result)
    assert gate.asked > 0
    assert [report.error for report in result.reconfigurations] == [""] * len(
        result.reconfigurations
    )
    assert len(result.reconfigurations) >= 3


@pytest.mark.parametrize("nth", [1, pytest.param(4, marks=pytest.mark.soak)])
@pytest.mark.parametrize(
    ("asked", "kind", "victim"),
    others_in_soak(
        [
            (LATE, RequestKind.ASK_WORK, LATE),
            (LATE, RequestKind.ASK_WORK, 0),
            (LATE, RequestKind.RETURN_STATE, LATE),
            (LATE, RequestKind.RETURN_STATE, 2),
        ],
        [(LATE, RequestKind.RETURN_STATE, LATE)],
    ),
)
def test_a_death_while_a_worker_helps_is_recovered_from(
    asked: int, kind: RequestKind, victim: int, nth: int
) -> None:
    gate = Deadly(asked, kind, nth, victim)
    result = train(gate, gate.cluster)
    assert len(gate.crashes) == 1
    gate.crashes[0].join(timeout=100)
    assert_right(result)
    assert len(result.recoveries) >= 1


def test_nobody_is_asked_in_a_job_that_does_not_help() -> None:
    gate = Gate(LATE)
    app = held_back(ToyRegression(batch_size=100), gate, Ledger())
    Job(app, app.prepare(None, seed=1), options("ignore"), cluster_with(gate, MACHINES)).run()
    assert gate.asked == 0


def test_without_bsp_nobody_waits_so_nobody_can_help() -> None:
    with pytest.raises(BadInput, match="stragglers=help with consistency=async"):
        TrainOptions(2, 1, 1, 1, consistency=Async(), stragglers="help")


class Watched(TrainObserver):
    """How many data blocks the late executor has after each epoch."""

    def __init__(self) -> None:
        self.job: Job | None = None
        self.blocks: list[int] = []

    def epoch_done(self, report: EpochReport) -> None:
        assert self.job is not None
        self.blocks.append(len(self.job.layout.data.blocks_of(LATE)))


class Slow(ToyRegression):
    """Executor LATE takes twenty times as long for an instance."""

    def compute(self, batch, model, step):  # type: ignore[no-untyped-def]
        pause_s = 2e-3 if threading.current_thread().name == f"executor-{LATE}" else 1e-4
        threading.Event().wait(pause_s * len(batch.rows))
        return super().compute(batch, model, step)


def test_who_stays_slow_gets_less_data() -> None:
    app, watched = Slow(batch_size=100), Watched()
    settings = TrainOptions(
        machines=3, workers=2, servers=1, epochs=80, checkpoint_every=80, stragglers="help"
    )
    job = Job(app, app.prepare(None, seed=1), settings, InProcessCluster(3), watched)
    watched.job = job
    job.listen(LoadBalancer(job))
    result = job.run()
    assert watched.blocks[0] == 48
    assert watched.blocks[-1] < 24
    assert result.app.visits_.tolist() == [80.0] * 203
