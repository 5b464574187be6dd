"""Epoch time against 1, 2 and 4 workers, and memory per executor, for the four applications.

Real executors on this machine; generated data with enough work in a mini-batch for
workers to matter. On a machine with fewer cores than workers the best possible speed-up is the
number of cores, which the servers use as well; the figure states it.
Memory is the unique set size (USS) of an executor's process after training.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import psutil

from motet.apps import load_application
from motet.datasets import open_dataset
from motet.runtime.backends.local.cluster import LocalCluster
from motet.runtime.controller.job import Job
from motet.runtime.core.application import Application
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport, TrainResult
from support.figures import RESULTS, Figure, parser, report

Case = tuple[str, dict[str, Any]]
CASES: dict[str, Case] = {
    "mlr": (
        "synthetic-classification:rows=40000,features=784,classes=10,seed=1",
        {"solver": "saga", "batch_size": 4000},
    ),
    "nmf": ("synthetic-ratings:users=20000,items=4000,rank=16,density=0.02,seed=1", {}),
    "lda": (
        "synthetic-corpus:documents=8000,words=4000,topics=50,length=150,seed=1",
        {"topics": 100},
    ),
    "lasso": ("synthetic-regression:rows=100000,features=300,seed=1", {"solver": "fista"}),
}
WORKERS = (1, 2, 4)


class MemoryProbe(TrainObserver):
    """Reads the executors' memory at the end of every epoch."""

    def __init__(self) -> None:
        self.largest_bytes = 0

    def epoch_done(self, report: EpochReport) -> None:
        """Look at every executor process below this one."""
        for child in psutil.Process().children(recursive=True):
            if child.name() == "motet-executor":
                self.largest_bytes = max(self.largest_bytes, child.memory_full_info().uss)


@dataclass(frozen=True)
class Measurement:
    """One application with one number of workers."""

    epoch_s: float
    comp_s: float
    comm_s: float
    executor_bytes: int


def measure(cluster: LocalCluster, name: str, case: Case, workers: int, epochs: int) -> Measurement:
    """Median epoch over all but the first."""
    data, settings = case
    app: Application = load_application(name)(**settings)
    rows = app.prepare(open_dataset(data), 0)
    options = TrainOptions(
        machines=4, workers=workers, servers=2, epochs=epochs, checkpoint_every=1000
    )
    probe = MemoryProbe()
    result: TrainResult = Job(app, rows, options, cluster, probe).run()
    later = result.epochs[1:]
    return Measurement(
        float(np.median([each.wall_s for each in later])),
        float(np.median([each.comp_s for each in later])),
        float(np.median([each.comm_s for each in later])),
        probe.largest_bytes,
    )


def draw(figures: list[Figure], cores: int) -> None:
    """Speed-up against workers, a line per application."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    axes.plot(WORKERS, [min(w, cores) for w in WORKERS], "--", color="#888", label="cores allow")
    for name in CASES:
        ratios = [f.ratio for f in figures if f.name.startswith(f"{name},") and f.ratio]
        axes.plot(WORKERS, ratios, marker="o", label=name)
    axes.set_xlabel("workers")
    axes.set_ylabel("speed-up of an epoch")
    axes.set_xticks(WORKERS)
    axes.legend(frameon=False)
    figure.savefig(RESULTS / "scaling.png", dpi=120)


def main() -> None:
    """All applications with all numbers of workers in one run."""
    arguments = parser(main.__doc__ or "").parse_args()
    epochs = 4 if arguments.quick else 9
    cores = os.cpu_count() or 1
    figures: list[Figure] = []
    with LocalCluster(machines=4) as cluster:
        for name, case in CASES.items():
            alone = measure(cluster, name, case, 1, epochs)
            for workers in WORKERS:
                many = alone if workers == 1 else measure(cluster, name, case, workers, epochs)
                figures.append(
                    Figure(
                        f"{name}, {workers} workers, 2 servers ({cores} cores)",
                        f"{many.epoch_s * 1e3:.1f} ms",
                        f"comp {many.comp_s * 1e3:.1f} ms",
                        alone.epoch_s / many.epoch_s,
                    )
                )
            figures.append(
                Figure(f"{name}, memory of an executor", f"{alone.executor_bytes / 2**20:.0f} MiB")
            )
    report("scaling", "Epoch time, speed-up over one worker, and memory", figures, plot=False)
    draw(figures, cores)


if __name__ == "__main__":
    main()
