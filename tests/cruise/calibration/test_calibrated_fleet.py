"""A fleet fitted to measurements agrees with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from batch_measurements import measurement
from motet.cruise.calibration.averages import MovingAverages
from motet.cruise.calibration.calibrated_fleet import CalibratedFleet, calibrate_fleet
from motet.cruise.calibration.link_queue import LinkQueue
from motet.cruise.search.solver import best_configuration
from motet.estimate.epoch_cost import Configuration, Fleet, MachineType, Profile, exchange_s

PROFILE = Profile(20_000, 500, 2e6, data_blocks=96, model_blocks=48)
KINDS = (MachineType("fast", 3, 1e-4), MachineType("slow", 5, 2e-4))
FLEET = Fleet(KINDS, ((2e8, 1e8), (1e8, 1e8)))
MACHINES = range(FLEET.size)
TYPE_OF = dict(zip(MACHINES, FLEET.type_of.tolist(), strict=True))
THREE_WORKERS = Configuration((32, 32, 32, 0, 0, 0, 0, 0), (0, 0, 0, 48, 0, 0, 0, 0))


def averages_of(configuration: Configuration, *batches: tuple[float, float]) -> MovingAverages:
    """COMP per instance and exchange of the same mini-batches on every worker."""
    averages = MovingAverages(skipped=0, least=1)
    averages.restart([m for m in MACHINES if configuration.data_blocks[m]])
    for comp_s, exchange in batches:
        for machine in MACHINES:
            averages.observe(measurement(machine, comp_s, exchange))
    return averages


def test_the_fitted_model_reproduces_the_measurements() -> None:
    nominal = Fleet.uniform(FLEET.size, 1e-3, 1e6)
    configuration = best_configuration(PROFILE, nominal).configuration
    averages = averages_of(configuration, *[(4e-4, 0.25)] * 3)
    found = calibrate_fleet(PROFILE, nominal, configuration, dict.fromkeys(MACHINES, 0), averages)
    is_worker = np.array(configuration.data_blocks) > 0
    predicted_s = exchange_s(PROFILE, found.fleet, configuration)[is_worker]
    assert found.fleet.types[0].comp_s_per_instance == pytest.approx(4e-4)
    assert predicted_s.mean() == pytest.approx(0.25)
    assert found.epoch_error(PROFILE, configuration) == 0


def test_a_queue_lengthens_the_exchange_and_its_latency_is_left_out() -> None:
    averages = averages_of(THREE_WORKERS, (1e-4, 0.25))
    queue = LinkQueue(factor=2.0, latency_s=0.1)
    found = calibrate_fleet(PROFILE, FLEET, THREE_WORKERS, TYPE_OF, averages, queue)
    predicted_s = exchange_s(PROFILE, found.fleet, THREE_WORKERS)[:3]
    assert predicted_s == pytest.approx([0.4] * 3)


def test_a_type_that_only_serves_is_corrected_like_the_others() -> None:
    averages = averages_of(THREE_WORKERS, (3 * KINDS[0].comp_s_per_instance, 1.0))
    found = calibrate_fleet(PROFILE, FLEET, THREE_WORKERS, TYPE_OF, averages)
    assert found.fleet.types[1].comp_s_per_instance == pytest.approx(6e-4)


def test_without_a_crossed_link_bandwidths_stay_as_they_are() -> None:
    alone = Fleet.uniform(1, 1e-3, 5e6)
    both_roles = Configuration((96,), (48,))
    averages = MovingAverages(skipped=0, least=1)
    averages.restart([0])
    averages.observe(measurement(0, 2e-3, 0.5))
    found = calibrate_fleet(PROFILE, alone, both_roles, {0: 0}, averages)
    assert found.fleet == Fleet.uniform(1, 2e-3, 5e6)


def test_noise_bounds_the_errors_of_both_costs() -> None:
    averages = averages_of(THREE_WORKERS, (1e-4, 0.2), (2e-4, 0.2))
    found = calibrate_fleet(PROFILE, FLEET, THREE_WORKERS, TYPE_OF, averages)
    each = 4 * 0.5e-4  # Widened four times for two values.
    assert found.comp_error == pytest.approx(3 * each / np.sqrt(3) / 1.5e-4)
    assert found.exchange_error == 0


def test_the_error_of_a_cost_counts_by_its_part_of_the_epoch() -> None:
    without_exchange = replace(PROFILE, exchange_bytes=0.0)
    best = best_configuration(PROFILE, FLEET).configuration
    noisy = CalibratedFleet(FLEET, comp_error=0.1, exchange_error=0.5)
    assert noisy.epoch_error(without_exchange, best) == pytest.approx(0.1)
    assert 0.1 < noisy.epoch_error(PROFILE, best) < 0.5
