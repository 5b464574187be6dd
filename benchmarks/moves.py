"""How long a mini-batch stands still while blocks move, on executors in processes of their own.

A job trains with half of its model blocks, then half of its data blocks, going from one executor to
another and back. Mini-batches during a move are compared with the median of those of quiet epochs
of the same run.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from motet.runtime.application import Application, Batch, Evaluation, ModelTable, Step, Update
from motet.runtime.job import Job
from motet.runtime.layout import Layout, TableName
from motet.runtime.options import EpochReport, ReconfigurationReport, TrainObserver, TrainOptions
from motet.runtime.ray_cluster import RayCluster
from motet.runtime.reconfiguration import Move, Plan
from motet.runtime.rows import Rows

Array = NDArray[Any]
MB = 1 << 20


class Dense(Application):
    """Pulls and pushes a dense model; its instances are as large as they are told to be."""

    name: ClassVar[str] = "dense"
    dataset_kind: ClassVar[str] = "labelled"
    state_columns: ClassVar[tuple[str, ...]] = ("visits",)

    def __init__(self, model_mb: int, data_mb: int, batches: int = 8) -> None:
        self.model_mb = model_mb
        self.data_mb = data_mb
        self.batches = batches
        self.batch_size = 4096 // batches

    def prepare(self, dataset: Any, seed: int) -> Rows:
        del dataset, seed
        width = self.data_mb * MB // 8 // 4096
        x = np.ones((4096, width))
        return Rows(np.arange(4096), {"x": x, "visits": np.zeros(4096)})

    def model_table(self) -> ModelTable:
        return ModelTable(self.model_mb * 1024, (256,), np.dtype(np.float32))

    def initial_model(self, rows: Rows, seed: int) -> Array:
        del rows, seed
        return np.zeros(self.model_table().shape, np.float32)

    def compute(self, batch: Batch, model: Array, step: Step) -> Update:
        del step
        batch.rows["visits"][:] += 1
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


class Mover(TrainObserver):
    """Asks for a move after every third epoch; between them epochs are quiet."""

    def __init__(self, table: TableName) -> None:
        self._table = table
        self.job: Job | None = None
        self.epochs: list[EpochReport] = []
        self.moves: list[ReconfigurationReport] = []

    def epoch_done(self, report: EpochReport) -> None:
        self.epochs.append(report)
        if report.epoch % 3 == 2 and self.job is not None:
            self.job.reconfigure(self._plan)

    def reconfigured(self, report: ReconfigurationReport) -> None:
        self.moves.append(report)

    def _plan(self, layout: Layout) -> Plan:
        owned = layout.owners(self._table)
        first, second = layout.workers if self._table == "data" else layout.servers
        counts = {e: len(owned.blocks_of(e)) for e in (first, second)}
        source, destination = (
            (first, second) if counts[first] >= counts[second] else (second, first)
        )
        half = owned.blocks_of(source)[::2]
        return Plan.of([Move(self._table, tuple(half), source, destination)])


def measure(cluster: RayCluster, table: TableName, model_mb: int, data_mb: int) -> None:
    app, mover = Dense(model_mb, data_mb), Mover(table)
    options = TrainOptions(machines=4, workers=2, servers=2, epochs=31)
    job = Job(app, app.prepare(None, 0), options, cluster, mover)
    mover.job = job
    job.run()
    moved = {move.at_epoch for move in mover.moves}
    quiet = [s for e in mover.epochs[1:] if e.epoch not in moved for s in e.batch_s]
    usual_s = statistics.median(quiet)
    worst = [max(e.batch_s) for e in mover.epochs if e.epoch in moved]
    quiet_worst = [max(e.batch_s) for e in mover.epochs[1:] if e.epoch not in moved]
    size_mb = statistics.median(move.moved_bytes for move in mover.moves) / MB
    plan_s = statistics.median(move.plan_s for move in mover.moves)
    stall_s = statistics.median(move.stall_s for move in mover.moves)
    print(
        f"{table:5} model {model_mb} MB, data {data_mb} MB: {len(moved)} moves of {size_mb:.0f} MB in "
        f"{plan_s * 1000:.0f} ms (stall {stall_s * 1000:.0f} ms = {size_mb / stall_s:.0f} MB/s); mini-batch "
        f"{usual_s * 1000:.0f} ms, slowest of a quiet epoch {statistics.median(quiet_worst) * 1000:.0f} ms, "
        f"slowest of one with a move {statistics.median(worst) * 1000:.0f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.parse_args()
    with RayCluster.embedded(machines=4) as cluster:
        for model_mb, data_mb in ((8, 32), (64, 256)):
            measure(cluster, "model", model_mb, data_mb)
            measure(cluster, "data", model_mb, data_mb)


if __name__ == "__main__":
    main()
