"""Training as it would go on W workers and S servers, step by step in this process.

For tests of an application: whatever W and S are, the model must be the same up to rounding.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from motet.domain.arrays import Array
from motet.runtime.core.application import Application, Batch, Evaluation, Step, Update
from motet.runtime.core.partition import Partition
from motet.runtime.core.rows import Rows
from motet.runtime.core.schedule import DATA_BLOCKS, Schedule, deal_blocks
from motet.runtime.worker.share import DataShare

PLACEMENTS = [(1, 1), (2, 1), (3, 2), (5, 4)]
"""(workers, servers) worth comparing."""


@dataclass(frozen=True, eq=False)
class Placed:
    """A finished training run; `app` is fitted."""

    app: Any
    model: Array
    evaluation: Evaluation

    @property
    def loss(self) -> float:
        return self.evaluation.loss


def train_placed(
    app: Application,
    dataset: Any,
    epochs: int,
    workers: int,
    servers: int,
    seed: int = 0,
    section_bytes: int | None = None,
) -> Placed:
    """Train a copy of `app`, its data on `workers` workers, its model on `servers` servers."""
    training = _PlacedTraining(copy.deepcopy(app), dataset, workers, servers, seed, section_bytes)
    for epoch in range(epochs):
        training.run_epoch(epoch)
    return training.finish()


def assert_placement_independent(
    app: Application, dataset: Any, epochs: int, tolerance: float = 1e-6
) -> None:
    """Every placement ends with the same loss, and it is a finite one."""
    losses = [train_placed(app, dataset, epochs, *placement).loss for placement in PLACEMENTS]
    assert np.isfinite(losses).all()
    np.testing.assert_allclose(losses, losses[0], rtol=tolerance, err_msg=str(PLACEMENTS))


class _PlacedTraining:
    def __init__(
        self,
        app: Application,
        dataset: Any,
        workers: int,
        servers: int,
        seed: int,
        section_bytes: int,
    ) -> None:
        rows = app.prepare(dataset, seed)
        table = app.model_table()
        self.app = app
        self.schedule = Schedule.of(len(rows), app.batch_size, DATA_BLOCKS, seed)
        self.model = np.array(app.initial_model(rows, seed), dtype=table.dtype)
        self.partition = Partition(table.key_count, min(servers, table.key_count), table.partition)
        blocks = deal_blocks(rows, self.schedule)
        self.shares = [
            DataShare(
                app,
                self.schedule,
                {b: blocks[b] for b in blocks if b % workers == worker},
                section_bytes=section_bytes,
            )
            for worker in range(workers)
        ]

    def run_epoch(self, epoch: int) -> None:
        for position, number in enumerate(self.schedule.order(epoch)):
            self._run_batch(self._step(epoch, position, int(number)), int(number))

    def finish(self) -> Placed:
        sums = sum(self._evaluated(share) for share in self.shares)
        evaluation = self.app.summarise(self.model, np.asarray(sums), self.schedule.instance_count)
        rows = Rows.concatenate([share.select() for share in self.shares])
        self.app.adopt(self.model, rows.take(np.argsort(rows.ids)))
        return Placed(self.app, self.model, evaluation)

    def _evaluated(self, share: DataShare) -> Array:
        sums = [self.app.evaluate(rows, self.model) for rows in share.sections()]
        return np.sum(sums, axis=0)

    def _run_batch(self, step: Step, number: int) -> None:
        table = self.app.model_table()
        delta = np.zeros((table.key_count, *table.delta_value_shape), table.delta_value_dtype)
        statistics = np.zeros(len(self.app.statistics))
        parts = [share.part(number) for share in self.shares]
        busy = [batch for part in parts for batch in part.batches()]
        updates = [self._compute(batch, step) for batch in busy]
        for batch, update in zip(busy, updates, strict=True):
            if update.is_changes:
                np.add.at(delta.reshape(-1), update.delta[0], update.delta[1])
            else:
                delta[slice(None) if batch.keys is None else batch.keys] += update.delta
            statistics += update.statistics
        self._apply(delta, _with_statistics(step, statistics))

    def _compute(self, batch: Batch, step: Step) -> Update:
        pulled = self.model.copy() if batch.keys is None else self.model[batch.keys]
        before = pulled.copy()
        update = self.app.compute(batch, pulled, step)
        np.testing.assert_array_equal(pulled, before, "compute changed the pulled model")
        return update

    def _apply(self, delta: Array, step: Step) -> None:
        for block in range(self.partition.block_count):
            part = self.partition.slice_of(block)
            values = np.ascontiguousarray(self.model[part])
            some = np.ascontiguousarray(delta[part])
            if self.app.model_table().exchanges_changes:
                positions = np.flatnonzero(some)
                some = np.stack([positions, some.reshape(-1)[positions]])
            self.app.apply(values, some, step)
            self.model[part] = values

    def _step(self, epoch: int, position: int, number: int) -> Step:
        schedule = self.schedule
        return Step(
            epoch=epoch,
            batch=position,
            batch_count=schedule.batch_count,
            clock=epoch * schedule.batch_count + position,
            instances=schedule.batch_instances(number),
            instance_count=schedule.instance_count,
            seed=schedule.seed,
        )


def _with_statistics(step: Step, statistics: Array) -> Step:
    return Step(**{**vars(step), "statistics": tuple(map(float, statistics))})
