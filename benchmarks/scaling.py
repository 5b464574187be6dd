"""Epoch time against 1, 2 and 4 workers, and memory per executor, for the four applications.

Real executors on an embedded Ray cluster, data that is on every machine. On a machine with fewer
cores than workers the best possible speed-up is the number of cores; the figure says how many there
were. Memory is the unique set size (USS) of an executor's process after training.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import psutil

from motet.apps import load_application
from motet.datasets import open_dataset
from motet.runtime.application import Application
from motet.runtime.job import Job
from motet.runtime.options import EpochReport, TrainObserver, TrainOptions, TrainResult
from motet.runtime.ray_cluster import RayCluster
from support.figures import RESULTS, Figure, parser, report

CASES = {
    "mlr": "synthetic-classification:rows=20000,features=400,classes=10,seed=1",
    "nmf": "synthetic-ratings:users=6000,items=2000,rank=16,density=0.05,seed=1",
    "lda": "pydoc",
    "lasso": "synthetic-regression:rows=40000,features=200,seed=1",
}
WORKERS = (1, 2, 4)


class MemoryProbe(TrainObserver):
    """Reads the executors' memory at the end of every epoch."""

    def __init__(self) -> None:
        self.largest_bytes = 0

    def epoch_done(self, report: EpochReport) -> None:
        """Look at every executor process below this one."""
        for child in psutil.Process().children(recursive=True):
            if "_ExecutorActor" in " ".join(child.cmdline()):
                self.largest_bytes = max(self.largest_bytes, child.memory_full_info().uss)


@dataclass(frozen=True)
class Measurement:
    """One application with one number of workers."""

    epoch_s: float
    comp_s: float
    comm_s: float
    executor_bytes: int


def measure(cluster: RayCluster, name: str, data: str, workers: int, epochs: int) -> Measurement:
    """Median epoch over all but the first."""
    app: Application = load_application(name)()
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
    with RayCluster.embedded(machines=4) as cluster:
        for name, data in CASES.items():
            alone = measure(cluster, name, data, 1, epochs)
            for workers in WORKERS:
                many = alone if workers == 1 else measure(cluster, name, data, workers, epochs)
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
