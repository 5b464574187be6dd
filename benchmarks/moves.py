"""How long a mini-batch stands still while blocks move, on executors in processes of their own.

A job trains with half of its model blocks, then half of its data blocks, going from one executor to
another and back. Mini-batches during a move are compared with the median of those of quiet epochs
of the same run.
"""

from __future__ import annotations

import statistics
from typing import Any, ClassVar

import numpy as np

from motet.domain.arrays import Array
from motet.domain.reconfiguration import Move, Plan, TableName
from motet.runtime.backends.local.cluster import LocalCluster
from motet.runtime.controller.job import Job
from motet.runtime.core.application import Application, Batch, Evaluation, ModelTable, Step, Update
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport, ReconfigurationReport
from motet.runtime.core.rows import Rows
from motet.runtime.elastic.layout import JobLayout
from support.figures import Figure, parser, report

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
        if report.epoch_index % 3 == 2 and self.job is not None:
            self.job.reconfigure(self._plan)

    def reconfigured(self, report: ReconfigurationReport) -> None:
        self.moves.append(report)

    def _plan(self, layout: JobLayout) -> Plan:
        owned = layout.owners(self._table)
        first, second = layout.workers if self._table == "data" else layout.servers
        counts = {e: len(owned.blocks_of(e)) for e in (first, second)}
        source, destination = (
            (first, second) if counts[first] >= counts[second] else (second, first)
        )
        half = owned.blocks_of(source)[::2]
        return Plan.of([Move(self._table, tuple(half), source, destination)])


def measure(cluster: LocalCluster, table: TableName, model_mb: int, data_mb: int) -> list[Figure]:
    """Moves of half an executor's blocks, and the mini-batches around them."""
    app, mover = Dense(model_mb, data_mb), Mover(table)
    options = TrainOptions(machines=4, workers=2, servers=2, epochs=31)
    job = Job(app, app.prepare(None, 0), options, cluster, mover)
    mover.job = job
    job.run()
    moved = {move.at_epoch for move in mover.moves}
    quiet = [max(e.batch_s) for e in mover.epochs[1:] if e.epoch_index not in moved]
    during = [max(e.batch_s) for e in mover.epochs if e.epoch_index in moved]
    usual_s = statistics.median(s for e in mover.epochs[1:] for s in e.batch_s)
    size_mb = statistics.median(move.moved_bytes for move in mover.moves) / MB
    plan_s = statistics.median(move.plan_s for move in mover.moves)
    stall_s = statistics.median(move.stall_s for move in mover.moves)
    name = f"{table}, {size_mb:.0f} MB"
    return [
        Figure(f"{name}: move / mini-batch", _ms(plan_s), _ms(usual_s), plan_s / usual_s),
        Figure(f"{name}: stall / mini-batch", _ms(stall_s), _ms(usual_s), stall_s / usual_s),
        Figure(
            f"{name}: slowest mini-batch, moving / quiet",
            _ms(statistics.median(during)),
            _ms(statistics.median(quiet)),
            statistics.median(during) / statistics.median(quiet),
        ),
    ]


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms"


def main() -> None:
    """Small and large models and data."""
    parser(__doc__).parse_args()
    figures: list[Figure] = []
    with LocalCluster(machines=4) as cluster:
        for model_mb, data_mb in ((8, 32), (64, 256)):
            figures += measure(cluster, "model", model_mb, data_mb)
            figures += measure(cluster, "data", model_mb, data_mb)
    report("moves", "Moves while a job trains (2 workers, 2 servers)", figures, plot=False)


if __name__ == "__main__":
    main()
