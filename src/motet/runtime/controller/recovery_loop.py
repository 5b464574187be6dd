"""Trains a job generation after generation, until training is over.

start missing executors -> train a generation -> (an executor is lost: go back, once more)
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from motet.domain.errors import Interrupted, Unreachable
from motet.runtime.controller.event_inbox import (
    CancelRequested,
    ControllerEvent,
    ObserverFailed,
    SuspensionRequested,
)
from motet.runtime.controller.executor_pool import ExecutorPool
from motet.runtime.controller.generation.epoch_loop import GenerationLost
from motet.runtime.controller.ports import ExecutorLost, LaunchGivenUp
from motet.runtime.controller.progress import Progress
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.elastic.layout import JobLayout


class TrainableGeneration(Protocol):
    """One generation; see `GenerationRun`."""

    @property
    def layout(self) -> JobLayout:
        """The present layout."""
        ...

    def train(self) -> None:
        """Train until training is over. Raises GenerationLost, ExecutorLost, Unreachable."""
        ...


class RecoveryLoop:
    """Owns the layout between generations, and what ends the job early.

    `cancel`, `suspend`, `fail` and `layout` may be used from any thread.
    """

    def __init__(
        self,
        pool: ExecutorPool,
        first_layout: JobLayout,
        options: TrainOptions,
        observer: TrainObserver,
        post: Callable[[ControllerEvent], None],
    ) -> None:
        """`post` puts an event before the loop over epochs."""
        self._pool = pool
        self._layout = first_layout
        self._options = options
        self._observer = observer
        self._post = post
        self._is_cancelled = threading.Event()
        self._is_suspended = threading.Event()
        self._failure: Exception | None = None
        self._generation: TrainableGeneration | None = None

    @property
    def layout(self) -> JobLayout:
        """The present layout."""
        generation = self._generation
        return self._layout if generation is None else generation.layout

    def cancel(self) -> None:
        """End soon; `run` raises Interrupted."""
        self._is_cancelled.set()
        self._post(CancelRequested())

    def suspend(self) -> None:
        """End with a checkpoint, see `Job.suspend`; `run` raises Interrupted.

        Without a running generation the last checkpoint remains, and `run` ends soon.
        """
        self._is_suspended.set()
        self._post(SuspensionRequested())

    def fail(self, error: Exception) -> None:
        """End soon; `run` raises this error."""
        self._failure = error
        self._post(ObserverFailed(error))

    def run(
        self, progress: Progress, begin: Callable[[int, JobLayout, Progress], TrainableGeneration]
    ) -> None:
        """Train until `progress` is over; `begin(number, layout, progress)` makes a generation.

        Raises JobFailed, Interrupted, or what `fail` was called with.
        """
        number = 0
        while not progress.is_over(self._options):
            try:
                self._layout = self._pool.reconcile(self._layout, self._is_given_up)
                self._train(begin(number, self._layout, progress))
            except (GenerationLost, ExecutorLost, Unreachable) as lost:
                self._recover(lost, progress)
                number += 1
            except LaunchGivenUp as cancelled:
                raise Interrupted(self._interruption) from cancelled
        if self._failure is not None:
            raise self._failure

    def _train(self, generation: TrainableGeneration) -> None:
        self._generation = generation
        try:
            generation.train()
        finally:
            self._layout, self._generation = generation.layout.repaired(), None

    def _recover(self, lost: Exception, progress: Progress) -> None:
        """Return to the last checkpoint: abort executors, remove those that do not answer."""
        if self._failure is not None:
            raise self._failure from lost
        if self._is_suspended.is_set():
            raise Interrupted(self._interruption) from lost
        recovery = progress.go_back(str(lost), self._options.max_recoveries)
        self._observer.recovering(recovery)
        self._pool.retire_unresponsive()

    @property
    def _interruption(self) -> str:
        return f"the job was {'cancelled' if self._is_cancelled.is_set() else 'stopped'}"

    def _is_given_up(self) -> bool:
        return self._is_cancelled.is_set() or self._is_suspended.is_set()
