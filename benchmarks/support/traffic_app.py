"""An application of which only the mini-batch loop costs anything: it learns nothing."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from motet.domain.arrays import Array
from motet.runtime.core.application import Application, Batch, Evaluation, ModelTable, Step, Update
from motet.runtime.core.rows import Rows


class Traffic(Application):
    """`keys` float64 zeros are pulled and pushed per mini-batch; nothing is computed. `rows`:
    instances per epoch."""

    name: ClassVar[str] = "traffic"
    batch_size = 100

    def __init__(self, keys: int, rows: int) -> None:
        self.keys, self.rows = keys, rows

    def prepare(self, dataset: Any, seed: int) -> Rows:
        return Rows(np.arange(self.rows), {"x": np.zeros(self.rows)})

    def model_table(self) -> ModelTable:
        return ModelTable(self.keys, (1,), np.dtype(np.float64))

    def initial_model(self, rows: Rows, seed: int) -> Array:
        return np.zeros((self.keys, 1))

    def compute(self, batch: Batch, model: Array, step: Step) -> Update:
        return Update(np.zeros((self.keys, 1)))

    def apply(self, values: Array, delta: Array, step: Step) -> None:
        values += delta

    def evaluate(self, rows: Rows, model: Array) -> Array:
        return np.zeros(1)

    def summarise(self, model: Array, sums: Array, rows_count: int) -> Evaluation:
        return Evaluation(0.0)

    def adopt(self, model: Array, rows: Rows) -> None:
        self.model_ = model
