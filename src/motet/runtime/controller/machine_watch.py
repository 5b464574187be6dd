"""Reports machines that appear, will be taken away, or have gone."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence

from motet.runtime.controller.ports import ClusterLost
from motet.runtime.core.machine import Condition, Machine

_log = logging.getLogger(__name__)
_EVERY_S = 1.0
# A cluster that does not answer must not keep a job from ending.
_CLOSE_TIMEOUT_S = 5.0


class MachineWatch:
    """Reads the cluster's machines once a second, on a thread of its own."""

    def __init__(
        self,
        look: Callable[[], Sequence[Machine]],
        on_change: Callable[[Sequence[Machine], Sequence[Machine]], None],
        on_loss: Callable[[ClusterLost], None],
        every_s: float = _EVERY_S,
    ) -> None:
        """`on_change(changed, machines)` and `on_loss(error)` are called on the watch's thread.

        A machine that is not up at the first look counts as changed. The watch ends with the loss
        of the cluster.
        """
        self._look = look
        self._on_change = on_change
        self._on_loss = on_loss
        self._every_s = every_s
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="motet-machines", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def close(self) -> None:
        """Stop reading."""
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join(_CLOSE_TIMEOUT_S)

    def _run(self) -> None:
        known: dict[int, Condition] | None = None
        while True:
            # After an error the cluster is read again; the job notices lost executors itself.
            try:
                known = self._compare(known)
            except ClusterLost as lost:
                self._on_loss(lost)
                return
            except Exception:
                _log.debug("the machines could not be read", exc_info=True)
            if self._is_over.wait(self._every_s):
                return

    def _compare(self, known: Mapping[int, Condition] | None) -> dict[int, Condition]:
        """Report what has changed; returns the present conditions."""
        machines = self._look()
        before = {it.number: "up" for it in machines} if known is None else known
        changed = [it for it in machines if before.get(it.number) != it.condition]
        if changed:
            self._on_change(changed, machines)
        return {machine.number: machine.condition for machine in machines}
