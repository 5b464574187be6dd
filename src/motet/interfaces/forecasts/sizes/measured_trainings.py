"""COMP and COMM that trainings reported, and how exact they are. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from math import log, sqrt
from statistics import median

from motet.domain.events import DataSizes, SubtasksMeasured
from motet.engine.measurements.subtask_rows import MeasuredSubtasks
from motet.engine.reduce import measured_memory, measured_times
from motet.estimate.colocation.group_time import SubtaskTimes
from motet.estimate.colocation.subtask_profile import WINDOW

LEAST_SPREAD = 0.02
"""Of times that seem to be exact, and as long as nothing is known."""
_LATEST = 1000
_NORMAL = 1.4826
"""A standard deviation in median distances from the mean of a normal distribution."""


class MeasuredTrainings:
    """`of`: by number of the job, also of ended ones."""

    def __init__(self) -> None:
        self.of: dict[int, MeasuredSubtasks] = {}
        self._distances: deque[float] = deque(maxlen=_LATEST)

    def add(self, event: SubtasksMeasured) -> None:
        """A report of a training."""
        known = self.of.setdefault(event.job, MeasuredSubtasks(DataSizes(0, 0)))
        if known.profile is not None:
            self._distances += _distances(event, known.profile.at(event.machines))
        known.add(event.machines, measured_times(event), measured_memory(event))

    @property
    def spread(self) -> float:
        """How far the logarithms of measured times are from the true ones: single reports are as
        far from what their trainings had reported before, also on other numbers of machines, and a
        profile is the mean of WINDOW of them."""
        usual = _NORMAL * median(self._distances) if self._distances else 0.0
        return max(usual / sqrt(WINDOW), LEAST_SPREAD)


def _distances(event: SubtasksMeasured, before: SubtaskTimes) -> Iterator[float]:
    for found_s, known_s in ((event.comp_s, before.comp_s), (event.comm_s, before.comm_s)):
        if found_s > 0 and known_s > 0:
            yield abs(log(found_s / known_s))
