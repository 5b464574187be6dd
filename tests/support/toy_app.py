"""A small application for tests of the runtime: least squares by gradient descent, with state.

Every instance counts how often it was computed, so a test can tell a lost or a doubled mini-batch.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from motet.domain.arrays import Array
from motet.runtime.core.application import (
    Application,
    Batch,
    Evaluation,
    ModelTable,
    Step,
    Update,
)
from motet.runtime.core.changes import add_changes
from motet.runtime.core.rows import Rows


class ToyRegression(Application):
    name: ClassVar[str] = "toy"
    dataset_kind: ClassVar[str] = "labelled"
    statistics: ClassVar[tuple[str, ...]] = ("instances",)
    state_columns: ClassVar[tuple[str, ...]] = ("visits",)

    def __init__(
        self,
        features: int = 40,
        batch_size: int = 20,
        learning_rate: float = 0.05,
        sparse: bool = False,
        partition: str = "range",
        fail_at_clock: int = -1,
        exits: bool = False,
    ) -> None:
        self.features = features
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.sparse = sparse
        self.partition = partition
        self.fail_at_clock = fail_at_clock
        self.exits = exits

    def prepare(self, dataset: Any, seed: int) -> Rows:
        del dataset
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(203, self.features))
        if self.sparse:
            x *= rng.random(x.shape) < 0.1
        y = x @ rng.normal(size=self.features)
        return Rows(np.arange(len(x)), {"x": x, "y": y, "visits": np.zeros(len(x))})

    def model_table(self) -> ModelTable:
        return ModelTable(
            self.features,
            (1,),
            np.dtype(np.float64),
            partition="hash" if self.partition == "hash" else "range",
        )

    def initial_model(self, rows: Rows, seed: int) -> Array:
        del rows, seed
        return np.zeros((self.features, 1))

    def make_batch(self, rows: Rows) -> Batch:
        if not self.sparse:
            return Batch(rows)
        return Batch(rows, np.flatnonzero((rows["x"] != 0).any(axis=0)))

    def compute(self, batch: Batch, model: Array, step: Step) -> Update:
        if step.clock == self.fail_at_clock:
            if self.exits:
                sys.exit("the application left")
            raise ZeroDivisionError("the application's own bug")
        batch.rows["visits"][:] += 1
        x = batch.rows["x"] if batch.keys is None else batch.rows["x"][:, batch.keys]
        residual = x @ model[:, 0] - batch.rows["y"]
        return Update((x.T @ residual)[:, None], (float(len(residual)),))

    def apply(self, values: Array, delta: Array, step: Step) -> None:
        if step.share == 1.0:
            assert step.statistics[0] == step.instances
        values -= self.learning_rate / step.instances * delta

    def evaluate(self, rows: Rows, model: Array) -> Array:
        residual = rows["x"] @ model[:, 0] - rows["y"]
        return np.array([residual @ residual])

    def summarise(self, model: Array, sums: Array, rows_count: int) -> Evaluation:
        del model
        return Evaluation(float(sums[0]) / rows_count, {"mse": float(sums[0]) / rows_count})

    def adopt(self, model: Array, rows: Rows) -> None:
        self.coef_ = model[:, 0]
        self.visits_ = rows["visits"]


class CountingInstances(ToyRegression):
    """Every value of its model is the number of instances whose updates it contains."""

    def compute(self, batch: Batch, model: Array, step: Step) -> Update:
        statistics = super().compute(batch, model, step).statistics
        return Update(np.full(model.shape, statistics[0]), statistics)

    def apply(self, values: Array, delta: Array, step: Step) -> None:
        del step
        values += delta


class KilledOnce(CountingInstances):
    """The first process that reaches mini-batch `killed_at` dies in its COMP; `folder`: tells."""

    def __init__(self, folder: str = "", killed_at: int = 0) -> None:
        super().__init__()
        self.folder = folder
        self.killed_at = killed_at

    def compute(self, batch: Batch, model: Array, step: Step) -> Update:
        if step.clock == self.killed_at:
            with suppress(FileExistsError):
                os.close(os.open(Path(self.folder) / "killed", os.O_CREAT | os.O_EXCL))
                os.kill(os.getpid(), signal.SIGKILL)
        return super().compute(batch, model, step)


class IntegerCounts(CountingInstances):
    """Its table exchanges changes."""

    def model_table(self) -> ModelTable:
        return ModelTable(self.features, (1,), np.dtype(np.int32), exchange="changes")

    def compute(self, batch: Batch, model: Array, step: Step) -> Update:
        statistics = super().compute(batch, model, step).statistics
        positions = np.arange(self.features)
        changes = np.stack([positions, np.full_like(positions, int(statistics[0]))])
        return Update(changes, statistics, is_changes=True)

    def apply(self, values: Array, delta: Array, step: Step) -> None:
        del step
        add_changes(values, delta)


class HoldsInterpreter(ToyRegression):
    """Its first mini-batch lets no other thread of the process run for `held_s`."""

    def __init__(self, held_s: float = 0.0, batch_size: int = 100) -> None:
        super().__init__(batch_size=batch_size)
        self.held_s = held_s

    def compute(self, batch: Batch, model: Array, step: Step) -> Update:
        if step.clock == 0:
            self._hold()
        return super().compute(batch, model, step)

    def _hold(self) -> None:
        between_threads_s, until_s = sys.getswitchinterval(), time.perf_counter() + self.held_s
        sys.setswitchinterval(2 * self.held_s)
        while time.perf_counter() < until_s:
            pass
        sys.setswitchinterval(between_threads_s)


class SlowSomewhere(ToyRegression):
    """Ten times slower in the process that first gets hold of a file."""

    def __init__(self, folder: str = "", batch_size: int = 100) -> None:
        super().__init__(batch_size=batch_size)
        self.folder = folder

    def compute(self, batch: Batch, model: Array, step: Step) -> Update:
        each_s = 2e-3 if self._is_slow() else 2e-4
        threading.Event().wait(each_s * len(batch.rows))
        return super().compute(batch, model, step)

    def _is_slow(self) -> bool:
        path = Path(self.folder) / "slow"
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return (Path(self.folder) / str(os.getpid())).exists()
        (Path(self.folder) / str(os.getpid())).touch()
        return True
