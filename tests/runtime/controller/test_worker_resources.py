"""Whole jobs whose executors have other stores and gates than the default ones."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from in_process_cluster import InProcessCluster
from local_toy import trained_locally
from motet.domain.reconfiguration import Move, Plan
from motet.runtime.controller.job import Job
from motet.runtime.controller.reconfiguration.plan_queue import TimedPlan
from motet.runtime.core.application import Batch
from motet.runtime.core.consistency import Async
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.reports import TrainResult
from motet.runtime.core.rows import Rows
from motet.runtime.core.subtask import SubtaskKind
from motet.runtime.worker.block_store import MakeBatch, MemoryBlockStore
from motet.runtime.worker.local_training import LocalTraining
from motet.runtime.worker.resources import WorkerResources
from patient import Patient
from soak_cases import others_in_soak
from toy_app import ToyRegression

MACHINES, WORKERS, EPOCHS, BATCH_SIZE, BATCHES = 4, 2, 20, 20, 11


def train(
    resources: WorkerResources, timetable: tuple[TimedPlan, ...] = (), **changes: Any
) -> TrainResult:
    app = ToyRegression(batch_size=BATCH_SIZE)
    options = TrainOptions(MACHINES, WORKERS, 2, EPOCHS, **changes)
    cluster = InProcessCluster(MACHINES, resources=resources)
    rows = app.prepare(None, seed=1)
    return Job(app, rows, options, cluster, Patient(timetable), timetable).run()


def assert_as_locally(app: Any) -> None:
    expected = trained_locally(EPOCHS, BATCH_SIZE)
    np.testing.assert_allclose(app.coef_, expected.coef_, rtol=1e-10, atol=1e-13)
    assert app.visits_.tolist() == [float(EPOCHS)] * 203


class Arbiter:
    """Admits one COMP at a time and one of PULL and PUSH, and records all subtasks."""

    is_free = False

    def __init__(self) -> None:
        compute, communicate = threading.Lock(), threading.Lock()
        self._locks = dict.fromkeys(SubtaskKind, communicate) | {SubtaskKind.COMP: compute}
        self._inside: list[threading.Lock] = []
        self.entered: Counter[SubtaskKind] = Counter()

    def begin(self) -> None:
        """In the order of the requests."""

    @contextmanager
    def enter(self, kind: SubtaskKind) -> Iterator[bool]:
        lock = self._locks[kind]
        with lock:
            assert lock not in self._inside
            self._inside.append(lock)
            self.entered[kind] += 1
            yield False
            self._inside.remove(lock)


@pytest.mark.parametrize("stragglers", others_in_soak(["ignore", "help"], ["help"]))
def test_every_subtask_of_a_job_passes_the_gate_of_its_executor(stragglers: str) -> None:
    arbiter = Arbiter()
    result = train(WorkerResources(gate=arbiter), stragglers=stragglers)
    assert_as_locally(result.app)
    once = WORKERS * EPOCHS * BATCHES
    assert arbiter.entered[SubtaskKind.PUSH] == once
    # Each worker evaluates after every epoch, which is a PULL and a COMP.
    evaluations = WORKERS * EPOCHS
    assert arbiter.entered[SubtaskKind.PULL] >= once + evaluations
    # A small mini-batch may have all its instances at one worker.
    assert arbiter.entered[SubtaskKind.COMP] >= EPOCHS * BATCHES + evaluations
    for report in result.epochs:
        assert report.evaluation_s >= report.evaluation_comp_s + report.evaluation_comm_s > 0


def test_subtasks_that_run_beside_each_other_pass_the_gate_once_each() -> None:
    arbiter = Arbiter()
    result = train(WorkerResources(gate=arbiter), consistency=Async())
    assert result.app.visits_.tolist() == [float(EPOCHS)] * 203
    assert result.losses[-1] < 0.1 * result.losses[0]
    once, evaluations = WORKERS * EPOCHS * BATCHES, WORKERS * EPOCHS
    assert arbiter.entered[SubtaskKind.PUSH] == once
    assert arbiter.entered[SubtaskKind.PULL] == once + evaluations


class StrictStore(MemoryBlockStore):
    """Refuses to be used after it was closed, and keeps no batch."""

    def __init__(self, make_batch: MakeBatch) -> None:
        super().__init__(make_batch)
        self.is_closed = False

    def rows(self, section: int) -> Rows:
        assert not self.is_closed
        return super().rows(section)

    def batch(self, section: int, low: int, high: int) -> Batch:
        assert not self.is_closed
        return self._made((section, low, high))

    def close(self) -> None:
        assert not self.is_closed
        self.is_closed = True
        super().close()


class StrictStores:
    """Makes strict stores and remembers them."""

    def __init__(self) -> None:
        self.made: list[StrictStore] = []

    def __call__(self, make_batch: MakeBatch) -> StrictStore:
        store = StrictStore(make_batch)
        self.made.append(store)
        return store


def move(source: int, destination: int, at_epoch: int) -> TimedPlan:
    plan = Plan.of([Move("data", (0, 2, 4), source, destination)])
    return TimedPlan(lambda layout: plan, at_epoch=at_epoch)


def test_every_share_is_in_a_store_of_the_factory_that_is_closed_when_it_is_replaced() -> None:
    stores = StrictStores()
    result = train(WorkerResources(stores), (move(0, 1, at_epoch=1), move(1, 0, at_epoch=2)))
    assert [report.error for report in result.reconfigurations] == ["", ""]
    assert_as_locally(result.app)
    # Each executor makes an empty share and a first one; each change replaces those of two workers.
    assert len(stores.made) == 2 * MACHINES + 2 * WORKERS
    assert len([store for store in stores.made if not store.is_closed]) == MACHINES


def test_training_in_one_process_keeps_its_data_in_a_store_of_the_factory() -> None:
    stores, app = StrictStores(), ToyRegression(batch_size=BATCH_SIZE)
    training = LocalTraining(app, app.prepare(None, seed=1), seed=0, make_store=stores)
    list(training.epochs(EPOCHS))
    app.adopt(training.model.values, training.final_rows())
    assert_as_locally(app)
    assert [store.is_closed for store in stores.made] == [False]
