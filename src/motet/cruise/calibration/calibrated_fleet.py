"""Calibration of a fleet with the workers' measurements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from motet.cruise.calibration.averages import Average, MovingAverages
from motet.cruise.calibration.link_queue import NO_QUEUE, LinkQueue
from motet.domain.arrays import Floats
from motet.estimate.epoch_cost import Configuration, Fleet, MachineType, Profile, exchange_s

_STANDARD_ERRORS = 3.0


@dataclass(frozen=True)
class CalibratedFleet:
    """A measured fleet.

    `comp_error`, `exchange_error`: bounds of the relative errors of COMP and COMM, from noise.
    """

    fleet: Fleet
    comp_error: float = 0.0
    exchange_error: float = 0.0

    def epoch_error(self, profile: Profile, configuration: Configuration) -> float:
        """Bound of the relative error of an epoch's time: both errors, weighted by their costs."""
        instances = np.array(configuration.data_blocks) * profile.block_instances
        comp_s = self.fleet.comp_s[self.fleet.type_of] * instances
        comm_s = np.where(instances > 0, exchange_s(profile, self.fleet, configuration), 0.0)
        comm_s = comm_s * profile.batches(instances)
        slowest = int(np.argmax(comp_s + comm_s))
        error_s = comp_s[slowest] * self.comp_error + comm_s[slowest] * self.exchange_error
        return float(error_s / (comp_s[slowest] + comm_s[slowest]))


def calibrate_fleet(
    profile: Profile,
    nominal: Fleet,
    configuration: Configuration,
    type_of: Mapping[int, int],
    averages: MovingAverages,
    queue: LinkQueue = NO_QUEUE,
) -> CalibratedFleet:
    """The fleet whose cost model reproduces the measurements under `configuration`.

    COMP of a type is the mean of its workers. Bandwidths of a type keep their proportions and are
    scaled to the measured exchange. A type without workers is corrected by the geometric mean of
    the other types' corrections. `type_of`: the type of every worker's machine.
    """
    types = len(nominal.types)
    comp_s, comp_error = _by_type(averages.comp_s(), type_of, types)
    measured_s, exchange_error = _by_type(averages.exchange_s(), type_of, types)
    measured_s = measured_s * queue.factor - queue.latency_s
    predicted_s = _mean_exchange_s(profile, nominal, configuration)
    slower = _completed(comp_s / nominal.comp_s)
    # An exchange over no link says nothing about bandwidths.
    with np.errstate(divide="ignore", invalid="ignore"):
        is_known = (predicted_s > 0) & (measured_s > 0)
        faster = _completed(np.where(is_known, predicted_s / measured_s, 1.0))
    kinds = tuple(
        MachineType(kind.name, kind.count, float(kind.comp_s_per_instance * factor))
        for kind, factor in zip(nominal.types, slower, strict=True)
    )
    bandwidths = nominal.bandwidths * faster[:, None]
    fleet = Fleet(kinds, tuple(map(tuple, bandwidths.tolist())))
    return CalibratedFleet(fleet, comp_error, exchange_error)


def _by_type(
    measured: Mapping[int, Average], type_of: Mapping[int, int], types: int
) -> tuple[Floats, float]:
    """Mean of each type, NaN for a type without workers, and the largest relative error of any."""
    means, largest_error = np.full(types, np.nan), 0.0
    for kind in range(types):
        same = [average for machine, average in measured.items() if type_of[machine] == kind]
        if not same:
            continue
        means[kind] = np.mean([average.mean for average in same])
        error = np.sqrt(sum(average.standard_error**2 for average in same)) / len(same)
        if means[kind] > 0:
            largest_error = max(largest_error, float(_STANDARD_ERRORS * error / means[kind]))
    return means, largest_error


def _completed(factors: Floats) -> Floats:
    """Unknown factors (NaN) replaced by the geometric mean of the known ones."""
    known = factors[np.isfinite(factors)]
    typical = float(np.exp(np.log(known).mean())) if len(known) else 1.0
    return np.where(np.isfinite(factors), factors, typical)


def _mean_exchange_s(profile: Profile, fleet: Fleet, configuration: Configuration) -> Floats:
    """The predicted exchange of each type's workers, NaN for a type without workers."""
    predicted_s = exchange_s(profile, fleet, configuration)
    is_worker = np.array(configuration.data_blocks) > 0
    means = np.full(len(fleet.types), np.nan)
    for kind in range(len(fleet.types)):
        same = is_worker & (fleet.type_of == kind)
        if same.any():
            means[kind] = predicted_s[same].mean()
    return means
