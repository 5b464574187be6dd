"""What workers measured lately: moving averages with a warm-up, and how far they can be trusted."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from motet.domain.arrays import Floats
from motet.estimate.epoch_cost import Configuration, Fleet, MachineType, Profile, exchange_s

_STANDARD_ERRORS = 3.0
_CERTAIN, _CHANGED = 5.0, 0.5
"""In standard errors, and relative: what is so far from what was before is no noise."""


@dataclass(frozen=True)
class Average:
    """A mean and its standard error, both in seconds; the latter is wider for few values."""

    mean_s: float
    error_s: float

    @classmethod
    def of(cls, values_s: Iterable[float]) -> Self:
        """Of at least one measurement."""
        values = np.array(list(values_s))
        # Three of them are about as sure for five values (Student's t) as for many.
        few = 1 + 6 / len(values)
        error_s = few * values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
        return cls(float(values.mean()), float(error_s))


class _Sample(NamedTuple):
    """What one mini-batch of one worker took; NaN: not known."""

    comp_s_per_instance: float
    exchange_s: float
    batch_s: float
    pulled_bytes: float
    pushed_bytes: float
    comp_s: float


class MovingAverages:
    """Of the last `window` mini-batches of every worker.

    The first `skipped` after a start or a reconfiguration do not count: caches are cold and
    connections new. `least`: how many each worker must then have finished before anything is
    decided.
    """

    def __init__(self, window: int = 50, skipped: int = 3, least: int = 10) -> None:
        self._window, self._skipped, self._least = window, skipped, least
        self._seen: dict[int, int] = {}
        self._samples: dict[int, deque[_Sample]] = {}

    def restart(self, workers: Iterable[int]) -> None:
        """Forget everything; from now on these machines work."""
        machines = list(workers)
        self._seen = dict.fromkeys(machines, 0)
        self._samples = {machine: deque(maxlen=self._window) for machine in machines}

    def observe(
        self,
        worker: int,
        comp_s_per_instance: float,
        exchange_s: float,
        batch_s: float = math.nan,
        pulled_bytes: float = math.nan,
        pushed_bytes: float = math.nan,
        comp_s: float = math.nan,
    ) -> None:
        """A worker finished a mini-batch; `exchange_s`: PULL and PUSH, `batch_s`: all of it.

        COMP per instance is NaN where it had no instances. Strangers are ignored.
        """
        if worker not in self._seen:
            return
        self._seen[worker] += 1
        if self._seen[worker] > self._skipped:
            moved = pulled_bytes, pushed_bytes
            sample = _Sample(comp_s_per_instance, exchange_s, batch_s, *moved, comp_s)
            self._samples[worker].append(sample)

    def forget_what_was_otherwise(self) -> None:
        """Where a worker's latest mini-batches are certainly unlike those before, only they count.

        A machine that is slowed down is noticed after few mini-batches, not after a window of them.
        """
        for name, samples in self._samples.items():
            if len(samples) >= 2 * self._least and _has_changed(list(samples), self._least):
                latest = list(samples)[-self._least :]
                self._samples[name] = deque(latest, maxlen=self._window)

    @property
    def is_ready(self) -> bool:
        """Whether every worker has finished its warm-up."""
        return bool(self._seen) and all(
            sum(math.isfinite(sample.comp_s_per_instance) for sample in samples) >= self._least
            for samples in self._samples.values()
        )

    def comp_s(self) -> dict[int, Average]:
        """COMP per instance, by worker."""
        return self._of(0)

    def exchange_s(self) -> dict[int, Average]:
        """COMM per mini-batch, by worker."""
        return self._of(1)

    def batch_s(self) -> dict[int, Average]:
        """A whole mini-batch, waiting for others included, by worker."""
        return self._of(2)

    def batch_comp_s(self) -> dict[int, Average]:
        """COMP of a mini-batch, by worker."""
        return self._of(5)

    def pulled_bytes(self) -> dict[int, float]:
        """What a mini-batch pulls, by worker."""
        return {name: average.mean_s for name, average in self._of(3).items()}

    def pushed_bytes(self) -> dict[int, float]:
        """What a mini-batch pushes, by worker."""
        return {name: average.mean_s for name, average in self._of(4).items()}

    def moved_bytes(self) -> dict[int, float]:
        """What a mini-batch pulls and pushes, by worker."""
        pushed = self.pushed_bytes()
        return {name: bytes + pushed[name] for name, bytes in self.pulled_bytes().items()}

    def _of(self, quantity: int) -> dict[int, Average]:
        known = {name: _known(samples, quantity) for name, samples in self._samples.items()}
        return {name: Average.of(values) for name, values in known.items() if values}


def _has_changed(samples: Sequence[_Sample], latest: int) -> bool:
    """In COMP or in COMM."""
    for quantity in (0, 1):
        now = _known(samples[-latest:], quantity)
        before = _known(samples[:-latest], quantity)
        if len(now) < latest or len(before) < latest:
            continue
        old_s, new_s = float(np.mean(before)), float(np.mean(now))
        noise_s = max(np.std(before), np.std(now)) / np.sqrt(latest)
        # It is asked again and again, so chance alone must not say yes.
        if abs(new_s - old_s) > max(_CERTAIN * noise_s, _CHANGED * min(old_s, new_s)):
            return True
    return False


def _known(samples: Iterable[_Sample], quantity: int) -> list[float]:
    return [sample[quantity] for sample in samples if math.isfinite(sample[quantity])]


@dataclass(frozen=True)
class Calibrated:
    """A fleet as measured.

    `comp_error`, `exchange_error`: bounds of the relative errors of both costs, from noise alone.
    """

    fleet: Fleet
    comp_error: float = 0.0
    exchange_error: float = 0.0

    def epoch_error(self, profile: Profile, configuration: Configuration) -> float:
        """Bound of the relative error of an epoch's time: of both costs, by their parts of it."""
        instances = np.array(configuration.data_blocks) * profile.block_instances
        comp_s = self.fleet.comp_s[self.fleet.type_of] * instances
        comm_s = np.where(instances > 0, exchange_s(profile, self.fleet, configuration), 0.0)
        comm_s = comm_s * profile.batches(instances)
        slowest = int(np.argmax(comp_s + comm_s))
        wrong_s = comp_s[slowest] * self.comp_error + comm_s[slowest] * self.exchange_error
        return float(wrong_s / (comp_s[slowest] + comm_s[slowest]))


@dataclass(frozen=True)
class Queue:
    """What waiting for a server's link does to a mini-batch.

    `factor`: by which the exchange that a mini-batch waits for, that of the worker who is served
    last, is longer than the mean worker's. `latency_s`: the part of it that depends neither on
    bandwidths nor on who else is served.
    """

    factor: float = 1.0
    latency_s: float = 0.0


def calibrated(
    profile: Profile,
    nominal: Fleet,
    configuration: Configuration,
    type_of: Mapping[int, int],
    averages: MovingAverages,
    queue: Queue = Queue(),
) -> Calibrated:
    """The fleet whose model agrees with what was measured under `configuration`.

    A type's COMP is its workers' mean. Its bandwidths keep their proportions and are scaled so that
    the exchange takes what it took. A type without workers is corrected like the others on average.
    `type_of`: of every worker's machine.
    """
    comp, comp_error = _by_type(averages.comp_s(), type_of, len(nominal.types))
    exchange, exchange_error = _by_type(averages.exchange_s(), type_of, len(nominal.types))
    exchange = exchange * queue.factor - queue.latency_s
    predicted_s = _mean_exchange_s(profile, nominal, configuration)
    slower = _filled(comp / nominal.comp_s)
    # Where nothing crosses a link, nothing was learned about it.
    with np.errstate(divide="ignore", invalid="ignore"):
        faster = _filled(np.where((predicted_s > 0) & (exchange > 0), predicted_s / exchange, 1.0))
    types = tuple(
        MachineType(kind.name, kind.count, float(kind.comp_s_per_instance * factor))
        for kind, factor in zip(nominal.types, slower, strict=True)
    )
    bandwidths = nominal.bandwidths * faster[:, None]
    fleet = Fleet(types, tuple(map(tuple, bandwidths.tolist())))
    return Calibrated(fleet, comp_error, exchange_error)


def _by_type(
    measured: Mapping[int, Average], type_of: Mapping[int, int], types: int
) -> tuple[Floats, float]:
    """Mean of each type, NaN where nobody measured, and the largest relative error of any."""
    means, worst = np.full(types, np.nan), 0.0
    for kind in range(types):
        same = [average for name, average in measured.items() if type_of[name] == kind]
        if not same:
            continue
        means[kind] = np.mean([average.mean_s for average in same])
        error_s = np.sqrt(sum(average.error_s**2 for average in same)) / len(same)
        if means[kind] > 0:
            worst = max(worst, float(_STANDARD_ERRORS * error_s / means[kind]))
    return means, worst


def _filled(factors: Floats) -> Floats:
    known = factors[np.isfinite(factors)]
    typical = float(np.exp(np.log(known).mean())) if len(known) else 1.0
    return np.where(np.isfinite(factors), factors, typical)


def _mean_exchange_s(profile: Profile, fleet: Fleet, configuration: Configuration) -> Floats:
    """What the workers of each type should take, NaN where there is none."""
    predicted_s = exchange_s(profile, fleet, configuration)
    is_worker = np.array(configuration.data_blocks) > 0
    means = np.full(len(fleet.types), np.nan)
    for kind in range(len(fleet.types)):
        same = is_worker & (fleet.type_of == kind)
        if same.any():
            means[kind] = predicted_s[same].mean()
    return means
