"""Moves half of an executor's blocks back and forth over a link while a job trains.

Runs on the front of a testbed of four hosts: two workers, two servers. The job computes for longer
than it exchanges, and pulls little of its model: without moves the link is not full. Epochs are
longer than moves: no evaluation, which reads all of the model, is in the way.
"""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from motet.domain.arrays import Array
from motet.domain.errors import Interrupted
from motet.domain.reconfiguration import Move, Plan, TableName
from motet.runtime.backends.ray.cluster import RayCluster
from motet.runtime.controller.job import Job
from motet.runtime.core.application import Application, Batch, Evaluation, ModelTable, Step, Update
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.reports import EpochReport, ReconfigurationReport
from motet.runtime.core.rows import Rows
from motet.runtime.elastic.layout import JobLayout
from support.recorder import Recorder

MB = 1_000_000
MACHINES = 4
ROWS = 4096
BATCHES = 40
PULLED_PART = 256
QUIET_EPOCHS = 1
MOVES = 4
ALL_OF_IT = 1e9
"""More seconds than an epoch has."""


class LightTraffic(Application):
    """Reads its data several times per mini-batch, exchanges little of its model."""

    name: ClassVar[str] = "light-traffic"
    dataset_kind: ClassVar[str] = "labelled"
    state_columns: ClassVar[tuple[str, ...]] = ("visits",)
    batch_size = ROWS // BATCHES

    def __init__(self, model_mb: int, data_mb: int, passes: int = 5000) -> None:
        self.model_mb = model_mb
        self.data_mb = data_mb
        self.passes = passes

    def prepare(self, dataset: Any, seed: int) -> Rows:
        del dataset, seed
        x = np.ones((ROWS, self.data_mb * MB // 8 // ROWS))
        return Rows(np.arange(ROWS), {"x": x, "visits": np.zeros(ROWS)})

    def model_table(self) -> ModelTable:
        return ModelTable(self.model_mb * MB // 1000, (250,), np.dtype(np.float32))

    def initial_model(self, rows: Rows, seed: int) -> Array:
        del rows, seed
        return np.zeros(self.model_table().shape, np.float32)

    def make_batch(self, rows: Rows) -> Batch:
        return Batch(rows, np.arange(0, self.model_table().key_count, PULLED_PART))

    def compute(self, batch: Batch, model: Array, step: Step) -> Update:
        del step
        batch.rows["visits"][:] += 1
        for _ in range(self.passes):
            batch.rows["x"].sum()
        return Update(np.ones_like(model))

    def apply(self, values: Array, delta: Array, step: Step) -> None:
        del step
        values += delta

    def evaluate(self, rows: Rows, model: Array) -> Array:
        del model
        return np.array([float(len(rows))])

    def summarise(self, model: Array, sums: Array, rows_count: int) -> Evaluation:
        del model
        return Evaluation(float(sums[0]) / rows_count)

    def adopt(self, model: Array, rows: Rows) -> None:
        del model
        assert len(set(rows["visits"].tolist())) == 1


class BackAndForth(Recorder):
    """A move from the beginning of an epoch on, some quiet epochs, the next move.

    `move_s` of an epoch: how long it had a move, from its first mini-batch on.
    """

    def __init__(self, table: TableName, out: Path) -> None:
        super().__init__(out, MACHINES)
        self._table = table
        self._move_s = 0.0
        self._quiet = 0
        self._moves = 0

    def epoch_done(self, report: EpochReport) -> None:
        """Begin a move after enough quiet epochs."""
        fields = {"move_s": self._move_s, "after_moves": self._moves}
        self.write("epoch", **fields, **asdict(report))
        if self._move_s == ALL_OF_IT:
            return
        self._move_s = 0.0
        self._quiet += 1
        if self._quiet <= QUIET_EPOCHS:
            return
        if self._moves == MOVES:
            self.job.cancel()
            return
        self._move_s = ALL_OF_IT
        self.job.reconfigure(self._plan)

    def reconfigured(self, report: ReconfigurationReport) -> None:
        """The blocks are there."""
        super().reconfigured(report)
        self._moves += 1
        self._quiet = 0
        self._move_s = report.plan_s

    def write(self, kind: str, **fields: Any) -> None:
        """With the table that is moved."""
        super().write(kind, table=self._table, **fields)

    def _plan(self, layout: JobLayout) -> Plan:
        """Half of what the one with more has goes to the other."""
        owned = layout.owners(self._table)
        holders = layout.workers if self._table == "data" else layout.servers
        few, many = sorted(holders, key=lambda one: len(owned.blocks_of(one)))
        return Plan.of([Move(self._table, tuple(owned.blocks_of(many)[::2]), many, few)])


def measure(cluster: RayCluster, table: TableName, out: Path) -> None:
    """Train until all moves are done. Raises MotetError."""
    app = LightTraffic(model_mb=32, data_mb=64)
    options = TrainOptions(MACHINES, 2, 2, epochs=1_000_000, checkpoint_every=1_000_000)
    job = Job(app, app.prepare(None, 0), options, cluster)
    BackAndForth(table, out).drive(job)
    try:
        job.run()
    except Interrupted:
        return


if __name__ == "__main__":
    with RayCluster.join(os.environ["MOTET_ADDRESS"], MACHINES) as joined:
        measure(joined, "data", Path(sys.argv[1]))
        measure(joined, "model", Path(sys.argv[1]))
