"""A thread that runs one task at a time beside the one that starts them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, TypeAlias, TypeVar

TaskResult = TypeVar("TaskResult")
_Task: TypeAlias = "tuple[Callable[[], Any], Future[Any]]"


class SecondThread:
    """Starts with the first task; `close` ends it.

    A daemon, so that a task which waits for a peer does not delay the end of the process.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    @contextmanager
    def running(self, task: Callable[[], TaskResult]) -> Iterator[Future[TaskResult]]:
        """Run a task beside what is inside the context; afterwards it has ended, its result or its
        error is in the future."""
        future: Future[TaskResult] = Future()
        if self._thread is None:
            arguments = (self._tasks,)
            self._thread = threading.Thread(
                target=_run_tasks, args=arguments, name=self._name, daemon=True
            )
            self._thread.start()
        self._tasks.put((task, future))
        try:
            yield future
        finally:
            wait([future])

    def close(self) -> None:
        """No task is started afterwards; the thread ends."""
        self._tasks.put(None)
        if self._thread is not None:
            self._thread.join()


def _run_tasks(tasks: SimpleQueue[_Task | None]) -> None:
    while (next_task := tasks.get()) is not None:
        task, future = next_task
        try:
            future.set_result(task())
        except BaseException as error:  # The thread that waits for the future raises it.
            future.set_exception(error)
        del next_task, task, future  # They hold values and an update.
