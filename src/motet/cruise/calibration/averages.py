"""Moving averages of workers' measurements, with a warm-up and standard errors."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np

_CERTAIN_ERRORS, _CHANGED_BY = 5.0, 0.5
"""In standard errors, and relative: a larger difference between mini-batches is not noise."""


@dataclass(frozen=True)
class BatchMeasurement:
    """One mini-batch of one machine's worker.

    `exchange_s`: PULL and PUSH without waiting for other workers; `batch_s`: the whole mini-batch,
    including waiting.
    """

    machine: int
    comp_s: float
    exchange_s: float
    batch_s: float
    instances: int
    pulled_bytes: float
    pushed_bytes: float

    @property
    def comp_s_per_instance(self) -> float:
        """NaN for a mini-batch in which the worker computed nothing."""
        is_known = self.instances > 0 and self.comp_s > 0
        return self.comp_s / self.instances if is_known else math.nan


Quantity: TypeAlias = Callable[[BatchMeasurement], float]
"""A quantity of a measurement; NaN: unknown."""


def _comp_s_per_instance(measured: BatchMeasurement) -> float:
    return measured.comp_s_per_instance


def _exchange_s(measured: BatchMeasurement) -> float:
    return measured.exchange_s


@dataclass(frozen=True)
class Average:
    """A mean and its standard error in the unit of the values."""

    mean: float
    standard_error: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Self:
        """Average of at least one value. The error of few values is widened (Student's t)."""
        listed = np.array(list(values))
        if len(listed) == 1:
            return cls(float(listed[0]), 0.0)
        # Three errors of five values then have about the confidence of three errors of many.
        widening = 1 + 6 / len(listed)
        error = widening * listed.std(ddof=1) / np.sqrt(len(listed))
        return cls(float(listed.mean()), float(error))


class MovingAverages:
    """Averages over the last `window` mini-batches of every worker.

    The first `skipped` mini-batches after a start or a reconfiguration do not count, because caches
    are cold and connections new. `least`: mini-batches per worker after which the averages are
    ready.
    """

    def __init__(self, window: int = 50, skipped: int = 3, least: int = 10) -> None:
        self._window, self._skipped, self._least = window, skipped, least
        self._batch_counts: dict[int, int] = {}
        self._samples: dict[int, deque[BatchMeasurement]] = {}

    def restart(self, workers: Iterable[int]) -> None:
        """Drop all measurements; these machines have workers from now on."""
        machines = list(workers)
        self._batch_counts = dict.fromkeys(machines, 0)
        self._samples = {machine: deque(maxlen=self._window) for machine in machines}

    def observe(self, measured: BatchMeasurement) -> None:
        """Add a finished mini-batch. Machines without a worker are ignored."""
        machine = measured.machine
        if machine not in self._batch_counts:
            return
        self._batch_counts[machine] += 1
        if self._batch_counts[machine] > self._skipped:
            self._samples[machine].append(measured)

    def drop_outdated(self) -> None:
        """Keep only a worker's latest mini-batches if they differ significantly from the earlier
        ones.

        This detects a slow machine after few mini-batches instead of a whole window.
        """
        for machine, samples in self._samples.items():
            if len(samples) >= 2 * self._least and _has_changed(list(samples), self._least):
                latest = list(samples)[-self._least :]
                self._samples[machine] = deque(latest, maxlen=self._window)

    @property
    def is_ready(self) -> bool:
        """Whether every worker has finished its warm-up."""
        return bool(self._batch_counts) and all(
            len(_known(samples, _comp_s_per_instance)) >= self._least
            for samples in self._samples.values()
        )

    def comp_s(self) -> dict[int, Average]:
        """COMP of one instance, by worker."""
        return self._averages(_comp_s_per_instance)

    def exchange_s(self) -> dict[int, Average]:
        """COMM of one mini-batch, by worker."""
        return self._averages(_exchange_s)

    def batch_s(self) -> dict[int, Average]:
        """A whole mini-batch, including waiting, by worker."""
        return self._averages(lambda measured: measured.batch_s)

    def batch_comp_s(self) -> dict[int, Average]:
        """COMP of one mini-batch, by worker."""
        return self._averages(lambda measured: measured.comp_s)

    def pulled_bytes(self) -> dict[int, float]:
        """Mean bytes that a mini-batch pulls, by worker."""
        return means_of(self._averages(lambda measured: measured.pulled_bytes))

    def pushed_bytes(self) -> dict[int, float]:
        """Mean bytes that a mini-batch pushes, by worker."""
        return means_of(self._averages(lambda measured: measured.pushed_bytes))

    def moved_bytes(self) -> dict[int, float]:
        """Mean bytes that a mini-batch pulls and pushes, by worker."""
        pushed = self.pushed_bytes()
        return {
            machine: pulled + pushed[machine] for machine, pulled in self.pulled_bytes().items()
        }

    def _averages(self, quantity: Quantity) -> dict[int, Average]:
        known = {machine: _known(samples, quantity) for machine, samples in self._samples.items()}
        return {machine: Average.of(values) for machine, values in known.items() if values}


def means_of(averages: Mapping[int, Average]) -> dict[int, float]:
    """The averages without their errors."""
    return {machine: average.mean for machine, average in averages.items()}


def _has_changed(samples: Sequence[BatchMeasurement], latest: int) -> bool:
    """Whether COMP or COMM of the latest mini-batches differs from those before."""
    for quantity in (_comp_s_per_instance, _exchange_s):
        now, before = _known(samples[-latest:], quantity), _known(samples[:-latest], quantity)
        if len(now) < latest or len(before) < latest:
            continue
        old_s, new_s = float(np.mean(before)), float(np.mean(now))
        noise_s = max(np.std(before), np.std(now)) / np.sqrt(latest)
        # The check repeats often, so the threshold exceeds what chance reaches.
        if abs(new_s - old_s) > max(_CERTAIN_ERRORS * noise_s, _CHANGED_BY * min(old_s, new_s)):
            return True
    return False


def _known(samples: Iterable[BatchMeasurement], quantity: Quantity) -> list[float]:
    values = map(quantity, samples)
    return [value for value in values if math.isfinite(value)]
