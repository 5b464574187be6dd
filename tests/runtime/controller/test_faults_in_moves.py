"""An executor dies at a given step of a reconfiguration: the model is the same all the same."""

from __future__ import annotations

import functools
import threading

import numpy as np
import pytest

from in_process_cluster import InProcessCluster
from motet.domain.reconfiguration import Add, Delete, Move, Operation, Plan
from motet.runtime.controller.job import Job
from motet.runtime.controller.reconfiguration.plan_queue import TimedPlan
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.reports import TrainResult
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.wire.messages import RequestKind
from soak_cases import others_in_soak
from toy_app import ToyRegression
from unhurried import THREADS_GROWTH, THREADS_PAUSE_S, UntilPlansAreDone

EPOCHS = 20
SOURCE, DESTINATION = 3, 4


class Died(Exception):
    """The handler's process is gone."""


class Fault:
    """One executor (None: any) crashes when it is asked something for the n-th time."""

    def __init__(self, executor: int | None, kind: RequestKind, nth: int = 1) -> None:
        self._executor = executor
        self._kind = kind
        self._left = nth
        self._lock = threading.Lock()
        self.cluster = InProcessCluster(5, self._on_request)
        self.crashes: list[threading.Thread] = []

    def _on_request(self, executor: int, kind: int) -> None:
        if kind != self._kind or self._executor not in (None, executor):
            return
        with self._lock:
            self._left -= 1
            if self._left:
                return
            victim = self.cluster.executors[executor]
            self.crashes.append(threading.Thread(target=victim.crash))
            self.crashes[-1].start()
        raise Died


def train(fault: Fault | None, *operations: Operation) -> TrainResult:
    app = ToyRegression(batch_size=50)
    options = TrainOptions(machines=5, workers=2, servers=2, epochs=EPOCHS, checkpoint_every=10)
    cluster = InProcessCluster(5) if fault is None else fault.cluster

    def make_plan(layout: JobLayout) -> Plan:
        return Plan.of(operations)

    timetable = (TimedPlan(make_plan, at_epoch=2),) if operations else ()
    patient = UntilPlansAreDone(len(timetable), THREADS_PAUSE_S, THREADS_GROWTH)
    rows = app.prepare(None, seed=1)
    result = Job(app, rows, options, cluster, patient, timetable).run()
    if fault is not None:
        assert len(fault.crashes) == 1
        fault.crashes[0].join(timeout=100)
    return result


@functools.cache
def undisturbed() -> TrainResult:
    return train(None)


def assert_right(result: TrainResult) -> None:
    expected = undisturbed().app
    np.testing.assert_allclose(result.app.coef_, expected.coef_, rtol=1e-10, atol=1e-13)
    assert result.app.visits_.tolist() == [float(EPOCHS)] * 203
    assert len(result.recoveries) >= 1


MOVE = Move("model", (0, 1, 2, 5), SOURCE, DESTINATION)


@pytest.mark.parametrize(
    ("executor", "kind", "nth"),
    others_in_soak(
        [
            (SOURCE, RequestKind.MOVE_BLOCKS, 1),
            (DESTINATION, RequestKind.LEARN_OWNERS, 1),
            (DESTINATION, RequestKind.TAKE_BLOCK, 1),
            (DESTINATION, RequestKind.TAKE_BLOCK, 3),
            (DESTINATION, RequestKind.SETTLE, 1),
            (SOURCE, RequestKind.LEARN_OWNERS, 1),
            (0, RequestKind.LEARN_OWNERS, 1),
        ],
        [
            (SOURCE, RequestKind.MOVE_BLOCKS, 1),
            (DESTINATION, RequestKind.TAKE_BLOCK, 3),
            (0, RequestKind.LEARN_OWNERS, 1),
        ],
    ),
)
def test_a_death_at_any_step_of_a_model_move_is_recovered_from(
    executor: int, kind: RequestKind, nth: int
) -> None:
    result = train(Fault(executor, kind, nth), MOVE)
    assert_right(result)
    (report,) = result.reconfigurations
    assert report.error == ""


@pytest.mark.parametrize("executor", others_in_soak([0, 1], [0]))
@pytest.mark.parametrize(
    "kind",
    others_in_soak(
        [RequestKind.PREPARE_WORK, RequestKind.HOLD, RequestKind.CHANGE_WORK],
        [RequestKind.CHANGE_WORK],
    ),
)
def test_a_death_at_any_step_of_a_data_move_is_recovered_from(
    executor: int, kind: RequestKind
) -> None:
    result = train(Fault(executor, kind), Move("data", (0, 2, 4), 0, 1))
    assert_right(result)
    (report,) = result.reconfigurations
    assert report.error == ""


@pytest.mark.parametrize(
    "kind",
    others_in_soak(
        [RequestKind.DISMISS, RequestKind.MOVE_BLOCKS, RequestKind.HOLD, RequestKind.SET_WORKERS],
        [RequestKind.DISMISS, RequestKind.HOLD],
    ),
)
def test_a_death_while_a_server_leaves_is_recovered_from(kind: RequestKind) -> None:
    executor = SOURCE if kind in (RequestKind.DISMISS, RequestKind.MOVE_BLOCKS) else None
    result = train(Fault(executor, kind), Delete(SOURCE))
    np.testing.assert_allclose(result.app.coef_, undisturbed().app.coef_, rtol=1e-10, atol=1e-13)
    assert result.reconfigurations[-1].after.servers == 1


@pytest.mark.parametrize(
    "kind",
    others_in_soak(
        [RequestKind.CHANGE_WORK, RequestKind.MEET, RequestKind.HOLD], [RequestKind.MEET]
    ),
)
def test_a_death_while_a_worker_joins_is_recovered_from(kind: RequestKind) -> None:
    executor = 2 if kind == RequestKind.CHANGE_WORK else None
    result = train(Fault(executor, kind), Add(2, "worker"))
    assert_right(result)
    assert result.reconfigurations[-1].after.workers == 3
