"""The toy application trained in this process, as a reference for every other placement."""

from __future__ import annotations

from motet.runtime.worker.local_training import LocalTraining
from toy_app import ToyRegression


def trained_locally(epochs: int, batch_size: int) -> ToyRegression:
    """The application after its training, with the seeds that tests of the runtime use."""
    app = ToyRegression(batch_size=batch_size)
    training = LocalTraining(app, app.prepare(None, seed=1), seed=0)
    list(training.epochs(epochs))
    app.adopt(training.model.values, training.final_rows())
    return app
