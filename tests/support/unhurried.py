"""An observer that keeps a job training until its plans are carried out."""

from __future__ import annotations

import threading

from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport

PAUSE_S, GROWTH = 0.3, 1.07
"""Together four minutes in 60 epochs: executors start slowly on a loaded machine."""
THREADS_PAUSE_S, THREADS_GROWTH = 0.02, 1.5
"""Together a minute in 18 epochs: executors that are threads start at once."""


class UntilPlansAreDone(TrainObserver):
    """Prolongs every epoch, by more and more, while fewer than `plans` reconfigurations are over.

    The job needs fewer epochs than one that must outlast the launch of an executor by computing.
    """

    def __init__(self, plans: int, pause_s: float = PAUSE_S, growth: float = GROWTH) -> None:
        """`pause_s`: after the first epoch. `growth`: of the pause, from one epoch to the next."""
        self._left = plans
        self._pause_s = pause_s
        self._growth = growth
        self._are_done = threading.Event()
        self._look()

    def reconfigured(self, report: object) -> None:
        del report
        self._left -= 1
        self._look()

    def epoch_done(self, report: EpochReport) -> None:
        del report
        if not self._are_done.wait(self._pause_s):
            self._pause_s *= self._growth

    def _look(self) -> None:
        if self._left == 0:
            self._are_done.set()
