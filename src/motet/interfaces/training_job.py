"""A training that goes on beside others: `Cluster.submit` returns it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future

from motet.domain.errors import Interrupted
from motet.interfaces.trained_model import TrainedModel
from motet.runtime.controller.job import Job

_CANCELLED = "the job was cancelled"


class TrainingJob:
    """A job of a cluster, as `submit` returns it. All methods may be called from any thread.

    >>> job = cluster.submit("mlr", "digits", epochs=500)
    >>> job.cancel()
    True
    """

    def __init__(self, title: str) -> None:
        """`title`: the application and its data, for `repr`."""
        self._title = title
        self._lock = threading.Lock()
        self._is_cancelled = False
        self._job: Job | None = None
        self._future: Future[TrainedModel] = Future()

    def begin(self, executor: Executor, train: Callable[[TrainingJob], TrainedModel]) -> None:
        """Have a thread call `train`, which announces its job by `attach`."""
        self._future = executor.submit(train, self)

    def attach(self, job: Job) -> None:
        """The job that `cancel` ends. Raises Interrupted if that was asked for already."""
        with self._lock:
            self._job = job
            if self._is_cancelled:
                raise Interrupted(_CANCELLED)

    def cancel(self) -> bool:
        """End the job and its executors soon; other jobs of the cluster go on.

        False: it had ended before. `result` raises Interrupted afterwards, unless the last epoch
        ended first.
        """
        if self._future.done():
            return False
        self._future.cancel()  # Of use only while the job has no thread yet.
        with self._lock:
            self._is_cancelled = True
            job = self._job
        if job is not None:
            job.cancel()
        return True

    def result(self, timeout: float | None = None) -> TrainedModel:
        """Wait for the trained model, at most `timeout` seconds.

        Raises TimeoutError, Interrupted after `cancel`, JobFailed, BadInput, or what a callback
        raised.
        """
        try:
            return self._result(timeout)
        except CancelledError:
            raise Interrupted(_CANCELLED) from None

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait as `result` does; the error that it raises, or None. Raises TimeoutError."""
        try:
            return self._future.exception(timeout)
        except CancelledError:
            return Interrupted(_CANCELLED)

    def done(self) -> bool:
        """Whether it has ended, with a model or an error."""
        return self._future.done()

    def running(self) -> bool:
        """Whether it has begun and has not ended."""
        return self._future.running()

    def cancelled(self) -> bool:
        """Whether `cancel` ended it."""
        return self._future.done() and isinstance(self.exception(), Interrupted)

    def _result(self, timeout: float | None) -> TrainedModel:
        try:
            return self._future.result(timeout)
        except TimeoutError:
            if self._future.done():  # It has just ended, or a callback raised the error.
                return self._future.result()
            message = f"{self._title}: not trained within timeout={timeout:g} s; it goes on"
            raise TimeoutError(message) from None

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._title}, {self._state}>"

    @property
    def _state(self) -> str:
        if not self.done():
            return "training" if self.running() else "waiting for a thread"
        if self.cancelled():
            return "cancelled"
        return "failed" if self.exception() else "done"
