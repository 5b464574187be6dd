"""A small application whose model is much larger than its data: each instance has a few keys."""

from __future__ import annotations

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
from motet.runtime.core.rows import Rows

WIDTH = 64
INSTANCES, KEYS_EACH = 400, 4


class WideModel(Application):
    """Moves the values of each instance's keys towards its target."""

    name: ClassVar[str] = "wide"
    dataset_kind: ClassVar[str] = "labelled"

    def __init__(self, keys: int = 1000, batch_size: int = 100) -> None:
        self.keys = keys
        self.batch_size = batch_size

    def prepare(self, dataset: Any, seed: int) -> Rows:
        del dataset
        rng = np.random.default_rng(seed)
        keys = rng.integers(0, self.keys, (INSTANCES, KEYS_EACH))
        return Rows(np.arange(INSTANCES), {"keys": keys, "y": rng.random(INSTANCES)})

    def model_table(self) -> ModelTable:
        return ModelTable(self.keys, (WIDTH,), np.dtype(np.float64))

    def initial_model(self, rows: Rows, seed: int) -> Array:
        del rows
        return np.random.default_rng(seed).random((self.keys, WIDTH))

    def make_batch(self, rows: Rows) -> Batch:
        return Batch(rows, np.unique(rows["keys"]))

    def compute(self, batch: Batch, model: Array, step: Step) -> Update:
        del step
        delta = np.zeros_like(model)
        places = np.searchsorted(batch.keys, batch.rows["keys"])
        differences = model[places] - batch.rows["y"][:, None, None]
        np.add.at(delta, places, differences)
        return Update(delta)

    def apply(self, values: Array, delta: Array, step: Step) -> None:
        del step
        values -= 0.1 * delta

    def evaluate(self, rows: Rows, model: Array) -> Array:
        differences = model[rows["keys"]] - rows["y"][:, None, None]
        return np.array([(differences**2).sum()])

    def summarise(self, model: Array, sums: Array, rows_count: int) -> Evaluation:
        del model
        return Evaluation(float(sums[0]) / rows_count, {})

    def adopt(self, model: Array, rows: Rows) -> None:
        del rows
        self.model_ = np.array(model)
