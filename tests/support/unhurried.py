"""An observer that keeps a job training until its plans are carried out."""

from __future__ import annotations

import threading

from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport

PAUSE_S, GROWTH = 0.3, 1.07
"""Together four minutes in 60 epochs: executors start slowly on a loaded machine."""


class UntilPlansAreDone(TrainObserver):
    """Prolongs every epoch, by more and more, while fewer than `plans` reconfigurations are over.

    The job needs fewer epochs than one that must outlast the launch of an executor by computing.
    """

    def __init__(self, plans: int) -> None:
        self._left = plans
        self._pause_s = PAUSE_S
        self._are_done = threading.Event()

    def reconfigured(self, report: object) -> None:
        del report
        self._left -= 1
        if self._left == 0:
            self._are_done.set()

    def epoch_done(self, report: EpochReport) -> None:
        del report
        if not self._are_done.wait(self._pause_s):
            self._pause_s *= GROWTH
