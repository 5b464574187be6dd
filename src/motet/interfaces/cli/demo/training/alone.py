"""A job of the demo alone: the same application, settings, data, epochs and seed, one process."""

from __future__ import annotations

from dataclasses import dataclass

from motet.interfaces.cli.demo.training.preparation import PreparedJob
from motet.runtime.worker.local_training import LocalTraining


@dataclass(frozen=True)
class AloneRun:
    """`metrics`: by name, as in a job's document. `epochs_s`: time of all epochs."""

    loss: float
    metrics: dict[str, float]
    epochs_s: float


def train_alone(done: PreparedJob) -> AloneRun:
    """Train the model of a job in this process, without workers, servers and other jobs."""
    app = type(done.app)(**done.app.get_params())
    seed = done.options.seed
    training = LocalTraining(app, app.prepare(done.dataset, seed), seed)
    reports = list(training.epochs(done.job.epochs))
    app.become_fitted(training.model.values, training.final_rows())
    held_out = {} if done.test is None else app.test_metrics(done.test)
    epochs_s = sum(report.wall_s for report in reports)
    return AloneRun(reports[-1].loss, {**reports[-1].metrics, **held_out}, epochs_s)
