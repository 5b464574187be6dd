"""When a configuration is changed: for 5 %, or more with noise; and never back and forth."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batch_measurements import measurement
from example_count import examples
from motet.cruise.calibration.averages import MovingAverages
from motet.cruise.calibration.calibrated_fleet import CalibratedFleet, calibrate_fleet
from motet.cruise.decision import TuningReason
from motet.cruise.search.solver import best_configuration
from motet.cruise.trigger import required_gain, review
from motet.estimate.epoch_cost import (
    Configuration,
    Fleet,
    MachineType,
    Profile,
    epoch_s,
    exchange_s,
)

PROFILE = Profile(20_000, 500, 2e6, data_blocks=96, model_blocks=48)
KINDS = (MachineType("fast", 3, 1e-4), MachineType("slow", 5, 2e-4))
FLEET = Fleet(KINDS, ((2e8, 1e8), (1e8, 1e8)))
MACHINES = range(FLEET.size)
TYPE_OF = dict(zip(MACHINES, FLEET.type_of.tolist(), strict=True))
BAD = Configuration((96, 0, 0, 0, 0, 0, 0, 0), (0, 48, 0, 0, 0, 0, 0, 0))


def workers_of(configuration: Configuration) -> list[int]:
    return [m for m, blocks in zip(MACHINES, configuration.data_blocks, strict=True) if blocks]


def measure(
    averages: MovingAverages,
    configuration: Configuration,
    batches: int,
    rng: np.random.Generator,
    noise: float,
) -> None:
    """Mini-batches of the real fleet, each disturbed by up to a factor of 1 + noise."""
    real_s = exchange_s(PROFILE, FLEET, configuration)
    for machine in workers_of(configuration) * batches:
        comp_factor, comm_factor = (1 + noise) ** rng.uniform(-1, 1, 2)
        comp_s = float(FLEET.comp_s[TYPE_OF[machine]] * comp_factor)
        averages.observe(measurement(machine, comp_s, float(real_s[machine] * comm_factor)))


def configurations_visited(noise: float, seed: int, rounds: int) -> list[Configuration]:
    """The configurations of a job that starts in BAD and is reviewed so many times."""
    rng = np.random.default_rng(seed)
    visited, averages = [BAD], MovingAverages(window=40)
    averages.restart(workers_of(BAD))
    for _ in range(rounds):
        measure(averages, visited[-1], 15, rng, noise)
        found = calibrate_fleet(PROFILE, FLEET, visited[-1], TYPE_OF, averages)
        verdict = review(PROFILE, found, visited[-1])
        if verdict.reason is TuningReason.GAIN:
            visited.append(verdict.choice.configuration)
            averages.restart(workers_of(visited[-1]))
    return visited


@settings(max_examples=examples(40))
@given(st.floats(0, 1), st.integers(0, 10**6))
def test_under_noise_every_change_is_an_improvement_so_it_never_oscillates(
    noise: float, seed: int
) -> None:
    visited = configurations_visited(noise, seed, rounds=12)
    real_s = [epoch_s(PROFILE, FLEET, configuration) for configuration in visited]
    assert all(later < earlier for earlier, later in pairwise(real_s))


def test_from_a_bad_start_it_reaches_the_optimum_and_stays() -> None:
    visited = configurations_visited(noise=0.2, seed=0, rounds=40)
    best_s = best_configuration(PROFILE, FLEET).epoch_s
    assert 2 <= len(visited) <= 4
    assert epoch_s(PROFILE, FLEET, visited[-1]) <= best_s / 0.95


def test_less_than_five_percent_is_no_reason_for_a_change() -> None:
    best = best_configuration(PROFILE, FLEET)
    verdict = review(PROFILE, CalibratedFleet(FLEET), best.configuration)
    assert (verdict.reason, verdict.choice) == (TuningReason.TOO_LITTLE_GAIN, best)
    assert not verdict.reason.is_change
    assert verdict.gain == pytest.approx(0)


def test_time_beyond_the_cost_model_lowers_the_gain() -> None:
    best_s, bad_s = (
        best_configuration(PROFILE, FLEET).epoch_s,
        epoch_s(PROFILE, FLEET, BAD),
    )
    verdict = review(PROFILE, CalibratedFleet(FLEET), BAD, overhead_s=bad_s)
    assert verdict.current_s == pytest.approx(2 * bad_s)
    assert verdict.gain == pytest.approx((bad_s - best_s) / (2 * bad_s))


def test_noise_raises_the_required_gain() -> None:
    assert required_gain((0.02, 0.02)) == 0.05
    assert required_gain((0.2, 0.2)) == pytest.approx(1 - 1 / 1.44)


def test_machines_that_appear_are_used_for_a_sufficient_gain() -> None:
    few = Fleet((KINDS[0], MachineType("slow", 0, 2e-4)), FLEET.bandwidth_bytes_per_s)
    old = best_configuration(PROFILE, few).configuration
    padded = Configuration(old.data_blocks + (0,) * 5, old.model_blocks + (0,) * 5)
    verdict = review(PROFILE, CalibratedFleet(FLEET), padded)
    assert verdict.reason is TuningReason.GAIN
    assert verdict.gain > 0.2


@pytest.mark.parametrize("reason", TuningReason)
def test_only_a_warm_up_and_too_little_gain_keep_the_configuration(reason: TuningReason) -> None:
    keeps = reason in (TuningReason.WARMING_UP, TuningReason.TOO_LITTLE_GAIN)
    assert reason.is_change is not keeps
