"""An observer that leaves a busy machine the time for a job's timetable."""

from __future__ import annotations

import threading

from motet.runtime.controller.reconfiguration.plan_queue import TimedPlan
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport, ReconfigurationReport


class Patient(TrainObserver):
    """Makes epochs slow while plans of the timetable are not done, so that a busy machine has time
    for them.
    """

    def __init__(self, timetable: tuple[TimedPlan, ...]) -> None:
        self._timetable = timetable
        self._reports = threading.Semaphore(0)
        self._done = 0

    def epoch_done(self, report: EpochReport) -> None:
        due = sum(timed.at_epoch <= report.epoch_index for timed in self._timetable)  # type: ignore[operator]
        if self._done < due and self._reports.acquire(timeout=0.1):
            self._done += 1

    def reconfigured(self, report: ReconfigurationReport) -> None:
        self._reports.release()
