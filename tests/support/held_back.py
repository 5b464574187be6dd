"""Applications that one executor computes slowly: until somebody asks it for work."""

from __future__ import annotations

import copy
import threading
from typing import Any

from numpy.typing import NDArray

from in_process_cluster import InProcessCluster
from motet.runtime.core.application import Application, Batch, Step, Update
from motet.runtime.wire.messages import RequestKind

_WHOLE_SHARE = 0.9


class Gate:
    """The late executor's computations wait here: of whole parts for a time, so that it is late;
    of units until it is asked again, but not longer.
    """

    def __init__(self, late: int, patience_s: float = 0.1) -> None:
        self.late = late
        self.asked = 0
        self._whole = 0
        self._patience_s = patience_s
        self._seen = 0
        self._changed = threading.Condition()

    def __deepcopy__(self, memo: Any) -> Gate:
        return self

    def on_request(self, executor: int, kind: int) -> None:
        """For `InProcessCluster`."""
        if executor == self.late and kind == RequestKind.ASK_WORK:
            with self._changed:
                self.asked += 1
                self._changed.notify_all()

    def pass_through(self, instances: int) -> None:
        """Called before every computation."""
        if threading.current_thread().name != f"executor-{self.late}":
            return
        with self._changed:
            is_whole = instances > _WHOLE_SHARE * self._whole
            self._whole = max(self._whole, instances)
            self._changed.wait_for(
                lambda: self.asked > self._seen and not is_whole, self._patience_s
            )
            self._seen = self.asked


class Ledger:
    """Who computed which instances how often."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.by_thread: dict[str, int] = {}

    def __deepcopy__(self, memo: Any) -> Ledger:
        return self

    def note(self, count: int) -> None:
        with self._lock:
            name = threading.current_thread().name
            self.by_thread[name] = self.by_thread.get(name, 0) + count


def held_back(app: Application, gate: Gate, ledger: Ledger) -> Application:
    """The same application, with a gate before `compute`."""

    class HeldBack(type(app)):  # type: ignore[misc]
        def compute(self, batch: Batch, model: NDArray[Any], step: Step) -> Update:
            gate.pass_through(len(batch.rows))
            ledger.note(len(batch.rows))
            return super().compute(batch, model, step)

    found = copy.deepcopy(app)
    found.__class__ = HeldBack
    return found


def cluster_with(gate: Gate, machines: int) -> InProcessCluster:
    return InProcessCluster(machines, gate.on_request)
