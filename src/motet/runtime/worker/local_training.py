"""Training in this process: one worker, the model in plain memory, the same loop and kernels."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from motet.domain.arrays import Array
from motet.runtime.core.application import Application, Evaluation, Step, Update
from motet.runtime.core.convergence import with_residual
from motet.runtime.core.reporting.reports import EpochReport
from motet.runtime.core.rows import Rows
from motet.runtime.core.schedule import DATA_BLOCKS, BatchKeys, Schedule, deal_blocks
from motet.runtime.core.subtask import SubtaskKind, SubtaskLog, Transfer, monotonic_us
from motet.runtime.core.table_spec import first_model
from motet.runtime.worker.block_store import MakeStore, MemoryBlockStore
from motet.runtime.worker.runners.plain_batch_runner import PlainBatchRunner
from motet.runtime.worker.share import DataShare
from motet.runtime.worker.worker import Worker


class LocalModel:
    """A model in this process's memory."""

    def __init__(self, app: Application, values: Array) -> None:
        table = app.model_table()
        self._app = app
        self.values = np.array(values, dtype=table.dtype)
        rows = 0 if table.exchanges_changes else table.key_count
        self._delta = np.zeros((rows, *table.delta_value_shape), dtype=table.delta_value_dtype)

    def await_start(self, step: Step) -> Transfer:
        """Return at once: the only worker begins every mini-batch."""
        del step
        return Transfer()

    def pull(self, part: BatchKeys, step: Step) -> tuple[Array, Transfer]:
        """A view (all keys) or a copy (some); `compute` must not change it."""
        del step
        values = self.values if part.keys is None else self.values[part.keys]
        return values, Transfer(values.nbytes)

    def pull_zeros(self, part: BatchKeys, step: Step) -> tuple[Array, Transfer]:
        """See ModelPort."""
        del step
        return self._app.model_table().zeros(part.keys), Transfer()

    def push(self, part: BatchKeys, update: Update | None, step: Step) -> Transfer:
        """Apply at once: the only worker's update is the sum over all workers."""
        if update is None:
            return Transfer()
        step = replace(step, statistics=update.statistics)
        if part.keys is None:
            self._app.apply(self.values, update.delta, step)
        else:
            self._delta[part.keys] = update.delta
            self._app.apply(self.values, self._delta, step)
            self._delta[part.keys] = 0
        return Transfer(update.delta.nbytes)

    def await_finished(self) -> None:
        """Return at once: the only worker has finished every mini-batch."""

    def pull_all(self) -> Array:
        """The model itself."""
        return self.values


class LocalTraining:
    """One in-process training run."""

    def __init__(
        self,
        app: Application,
        rows: Rows,
        seed: int,
        make_store: MakeStore = MemoryBlockStore,
    ) -> None:
        """`rows`: as made by `app.prepare`; `make_store`: makes the store that keeps them."""
        self.app = app
        self.model = LocalModel(app, first_model(app, rows, seed))
        self.schedule = Schedule.of(len(rows), app.batch_size, DATA_BLOCKS, seed)
        blocks = deal_blocks(rows, self.schedule)
        self._evaluations: list[Evaluation] = []
        self._share = DataShare(app, self.schedule, blocks, make_store)
        self._worker = Worker(
            app,
            self.schedule,
            lambda clock: self._share,
            self.model,
            PlainBatchRunner(app, self.model),
            monotonic_us,
        )

    def epochs(self, count: int, evaluate: bool = True) -> Iterator[EpochReport]:
        """Train `count` epochs, yielding after each; the loss is NaN unless `evaluate`.

        Convergence does not end them.
        """
        for epoch in range(count):
            began = time.perf_counter()
            log = self._worker.run_epoch(epoch)
            wall_s = time.perf_counter() - began
            yield self._report(epoch, wall_s, log, evaluate)

    def final_rows(self) -> Rows:
        """All instances with their final state columns, ordered by id."""
        rows = self._share.select()
        return rows.ordered_by_id()

    def _report(self, epoch: int, wall_s: float, log: SubtaskLog, evaluate: bool) -> EpochReport:
        evaluation = self._evaluation(log) if evaluate else Evaluation(math.nan)
        busy = log.busy_us
        return EpochReport(
            epoch_index=epoch,
            loss=evaluation.loss,
            metrics=dict(evaluation.metrics),
            wall_s=wall_s,
            comp_s=busy[SubtaskKind.COMP] / 1e6,
            comm_s=(busy[SubtaskKind.PULL] + busy[SubtaskKind.PUSH]) / 1e6,
            wait_s=0.0,
            bytes_pulled=0,
            bytes_pushed=0,
            instances=self.schedule.instance_count,
            batch_s=tuple(us / 1e6 for us in log.batch_us),
            residual=math.inf if evaluation.residual is None else evaluation.residual,
        )

    def _evaluation(self, log: SubtaskLog) -> Evaluation:
        sums = self._worker.evaluate(self._share, log)
        found = self.app.summarise(self.model.values, sums, self.schedule.instance_count)
        evaluation = with_residual(self.app, found, self._evaluations)
        self._evaluations.append(evaluation)
        return evaluation
