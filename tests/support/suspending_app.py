"""An application whose COMP of one mini-batch suspends its job and waits until that is decided."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from numpy.typing import NDArray

from in_process_cluster import InProcessCluster
from motet.runtime.core.application import Application, Batch, Step, Update
from motet.runtime.wire.messages import RequestKind

A = TypeVar("A", bound=Application)


class Suspension:
    """`suspend` is called in the COMP of mini-batch `clock`, which ends when the executors know at
    which mini-batch they stop."""

    def __init__(self, clock: int) -> None:
        self.clock = clock
        self.suspend: Callable[[], None] = lambda: None
        self._is_decided = threading.Event()

    def __deepcopy__(self, memo: Any) -> Suspension:
        return self

    def cluster(self, machines: int) -> InProcessCluster:
        return InProcessCluster(machines, self._on_request)

    def in_comp(self, step: Step) -> None:
        """Without lockstep other workers may be ahead; they wait for the decision, too."""
        if step.clock == self.clock:
            self.suspend()
        if step.clock >= self.clock:
            self._is_decided.wait()

    def _on_request(self, executor: int, kind: int) -> None:
        del executor
        if kind == RequestKind.PAUSE_WORK:
            self._is_decided.set()


def suspending(app: A, suspension: Suspension) -> A:
    """The same application, with the suspension in `compute`."""

    class Suspending(type(app)):  # type: ignore[misc]
        def compute(self, batch: Batch, model: NDArray[Any], step: Step) -> Update:
            suspension.in_comp(step)
            found: Update = super().compute(batch, model, step)
            return found

    found = copy.deepcopy(app)
    found.__class__ = Suspending
    return found
