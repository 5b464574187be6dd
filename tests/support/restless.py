"""An observer that reconfigures its job again and again."""

from __future__ import annotations

from motet.runtime.controller.job import Job
from motet.runtime.controller.reconfiguration.plan_queue import Reconfiguration
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport
from random_plans import RandomPlans

_PATIENCE_S, _GROWTH = 0.1, 1.5


class Restless(TrainObserver):
    """Asks for a random plan after every epoch, and lets the plans be carried out meanwhile.

    An epoch is over in milliseconds here. The longer a plan takes, the more time its epochs get: on
    a busy machine, too, it takes a few of them.
    """

    def __init__(self, seed: int, machines: int, plans: int) -> None:
        self._plans = RandomPlans(seed, machines)
        self._left = plans
        self._asked: list[Reconfiguration] = []
        self._patience_s = _PATIENCE_S
        self.job: Job | None = None

    def epoch_done(self, report: EpochReport) -> None:
        del report
        assert self.job is not None
        if self._left:
            self._left -= 1
            self._asked.append(self.job.reconfigure(self._plans))
        while self._asked and self._asked[0].wait(0):
            self._asked.pop(0)
            self._patience_s = _PATIENCE_S
        if self._asked and not self._asked[0].wait(self._patience_s):
            self._patience_s *= _GROWTH
