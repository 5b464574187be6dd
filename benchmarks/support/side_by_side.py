"""Own code and its peers measured in turn, so that a busy machine is busy for all of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from motet.apps.estimator import Estimator
from motet.runtime.core.application import Batch, Step, Update
from motet.runtime.core.reporting.reports import EpochReport
from motet.runtime.worker.local_training import LocalTraining

Sample = Callable[[], float]
"""Runs its action once more and returns the CPU-seconds that it took."""


def interleaved_medians(samples: list[Sample], repetitions: int) -> list[float]:
    """Median CPU-seconds of each, after one round that does not count."""
    rounds = [[sample() for sample in samples] for _ in range(repetitions + 1)]
    return [median(column) for column in zip(*rounds[1:], strict=True)]


def cpu_s(action: Callable[[], Any]) -> float:
    """CPU-seconds of all threads of this process."""
    began = time.process_time()
    action()
    return time.process_time() - began


def comp_sample(app: Estimator, dataset: Any) -> Sample:
    """An epoch of training in this process; only COMP is on the clock."""
    clock = _CompClock(app)
    training = LocalTraining(app, app.prepare(dataset, 0), 0)
    epochs: Iterator[EpochReport] = training.epochs(1_000_000, evaluate=False)

    def sample() -> float:
        clock.seconds = 0.0
        next(epochs)
        return clock.seconds

    return sample


class _CompClock:
    """Adds up the CPU-seconds of every `compute` of an application."""

    def __init__(self, app: Estimator) -> None:
        self.seconds = 0.0
        self._compute = app.compute
        app.compute = self._timed  # type: ignore[method-assign]

    def _timed(self, batch: Batch, model: Any, step: Step) -> Update:
        began = time.process_time()
        update = self._compute(batch, model, step)
        self.seconds += time.process_time() - began
        return update


def real_or_generated(path: str, generated: str) -> tuple[str, bool]:
    """A data set's place and whether it is the real one: where `MOTET_SHARED` (or `../shared`)
    does not have it, generated data of the same shape."""
    beside = Path(__file__).resolve().parents[3] / "shared"
    found = Path(os.path.normpath(Path(os.environ.get("MOTET_SHARED", beside)) / "data" / path))
    return (str(found), True) if found.exists() else (generated, False)
