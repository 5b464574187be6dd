"""Callbacks that report a run while it goes on, and how several observers share one run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence

from motet.runtime.core.machine import Machine
from motet.runtime.core.reporting.batch_costs import BatchCost
from motet.runtime.core.reporting.reports import EpochReport, ReconfigurationReport, Recovery


class TrainObserver:
    """Receives a run's progress; by default every method does nothing.

    Called from the job's thread; `reconfigured` and `machine_changed` from others. An exception of
    a method ends the run, which raises it.
    """

    def preparing(self, what: str) -> None:
        """A start-up step has begun; `what` describes it ("starting 5 executors")."""

    def started(self, instance_count: int, model_bytes: int) -> None:
        """Training is about to begin."""

    def batch_done(self, epoch: int, batch: int, batch_count: int) -> None:
        """A mini-batch ended (called a few times per second at most)."""

    def measured(self, executor: int, costs: Sequence[BatchCost]) -> None:
        """A worker's mini-batches since its last report, oldest first (a few times per second)."""

    def epoch_done(self, report: EpochReport) -> None:
        """An epoch ended and was evaluated."""

    def recovering(self, recovery: Recovery) -> None:
        """An executor was lost; training continues from the last checkpoint."""

    def machine_changed(self, machine: Machine) -> None:
        """A machine appeared ("up"), will be taken away or is gone (called from another thread)."""

    def reconfigured(self, report: ReconfigurationReport) -> None:
        """A reconfiguration ended (also called from another thread than the rest)."""

    def freed(self) -> None:
        """Training is over and executors have been told to end, so that other jobs may have their
        machines; the fitted model is yet to be made, here. Not called for a job that failed, was
        cancelled or was suspended before its training ended."""


class Observers(TrainObserver):
    """Calls several observers, in the order in which they were added."""

    def __init__(
        self, observers: Iterable[TrainObserver], on_failure: Callable[[Exception], None]
    ) -> None:
        """`on_failure(error)` is called with what they raise on other threads than the job's."""
        self._all = tuple(observers)
        self._on_failure = on_failure

    def add(self, observer: TrainObserver) -> None:
        """Add an observer, called last; from any thread."""
        self._all = (*self._all, observer)

    def preparing(self, what: str) -> None:
        """A start-up step has begun."""
        for each in self._all:
            each.preparing(what)

    def started(self, instance_count: int, model_bytes: int) -> None:
        """Training is about to begin."""
        for each in self._all:
            each.started(instance_count, model_bytes)

    def batch_done(self, epoch: int, batch: int, batch_count: int) -> None:
        """A mini-batch ended."""
        for each in self._all:
            each.batch_done(epoch, batch, batch_count)

    def measured(self, executor: int, costs: Sequence[BatchCost]) -> None:
        """What a worker's mini-batches cost."""
        for each in self._all:
            each.measured(executor, costs)

    def epoch_done(self, report: EpochReport) -> None:
        """An epoch ended."""
        for each in self._all:
            each.epoch_done(report)

    def recovering(self, recovery: Recovery) -> None:
        """An executor was lost."""
        for each in self._all:
            each.recovering(recovery)

    def machine_changed(self, machine: Machine) -> None:
        """A machine appeared, will be taken away or is gone."""
        with self._beside():
            for each in self._all:
                each.machine_changed(machine)

    def reconfigured(self, report: ReconfigurationReport) -> None:
        """A reconfiguration ended."""
        with self._beside():
            for each in self._all:
                each.reconfigured(report)

    def freed(self) -> None:
        """The machines are free."""
        for each in self._all:
            each.freed()

    @contextlib.contextmanager
    def _beside(self) -> Iterator[None]:
        """An observer's exception must not end the calling thread, which has other duties."""
        try:
            yield
        except Exception as error:
            self._on_failure(error)
