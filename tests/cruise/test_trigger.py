"""When Cruise acts: after its warm-up, for 5 %, for machines; and never back and forth."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.cruise.averages import Calibrated, MovingAverages, calibrated
from motet.cruise.search.solver import best_configuration
from motet.cruise.trigger import Change, Reason, required_gain, review
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
        comp_s = FLEET.comp_s[TYPE_OF[machine]] * comp_factor
        averages.observe(machine, float(comp_s), float(real_s[machine] * comm_factor))


def configurations_visited(noise: float, seed: int, rounds: int) -> list[Configuration]:
    """What Cruise changes to when it starts from BAD and looks so many times."""
    rng = np.random.default_rng(seed)
    visited, averages = [BAD], MovingAverages(window=40)
    averages.restart(workers_of(BAD))
    for _ in range(rounds):
        measure(averages, visited[-1], 15, rng, noise)
        verdict = review(
            PROFILE, calibrated(PROFILE, FLEET, visited[-1], TYPE_OF, averages), visited[-1]
        )
        if verdict.reason is Reason.GAIN:
            assert verdict.choice is not None
            visited.append(verdict.choice.configuration)
            averages.restart(workers_of(visited[-1]))
    return visited


@settings(deadline=None, max_examples=40)
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


def test_nothing_is_decided_before_every_worker_has_warmed_up() -> None:
    averages = MovingAverages(window=10, skipped=3, least=2)
    averages.restart([0, 1])
    for _ in range(5):
        averages.observe(0, 1.0, 1.0)
    assert not averages.is_ready
    for _ in range(5):
        averages.observe(1, 1.0, 1.0)
    assert averages.is_ready
    assert review(PROFILE, None, BAD).reason is Reason.WARMING_UP


def test_the_first_mini_batches_and_those_before_the_window_do_not_count() -> None:
    averages = MovingAverages(window=2, skipped=1, least=1)
    averages.restart([0])
    for seconds in (100.0, 50.0, 1.0, 3.0):
        averages.observe(0, seconds, 0.0)
    assert averages.comp_s()[0].mean_s == 2.0


def test_a_worker_that_is_slowed_down_is_noticed_before_its_window_is_over() -> None:
    slowed, noisy = 0, 1
    averages = MovingAverages(window=100, skipped=0, least=5)
    averages.restart([slowed, noisy])
    rng = np.random.default_rng(0)
    for batch in range(60):
        slowed_s = 1.0 if batch < 55 else 4.0
        averages.observe(slowed, slowed_s * rng.uniform(0.9, 1.1), 1.0)
        averages.observe(noisy, rng.uniform(0.5, 1.5), 1.0)
    averages.forget_what_was_otherwise()
    assert averages.comp_s()[slowed].mean_s == pytest.approx(4.0, rel=0.1)
    assert averages.comp_s()[noisy].mean_s == pytest.approx(1.0, rel=0.1)


def test_measurements_of_machines_that_do_not_work_are_ignored() -> None:
    averages = MovingAverages(skipped=0, least=1)
    averages.restart([0])
    averages.observe(9, 1.0, 1.0)
    assert averages.comp_s() == {}


def test_a_calibrated_model_agrees_with_what_was_measured() -> None:
    nominal = Fleet.uniform(FLEET.size, 1e-3, 1e6)
    configuration = best_configuration(PROFILE, nominal).configuration
    averages = MovingAverages(skipped=0, least=1)
    averages.restart(workers_of(configuration))
    for machine in workers_of(configuration) * 3:
        averages.observe(machine, 4e-4, 0.25)
    type_of = dict.fromkeys(MACHINES, 0)
    found = calibrated(PROFILE, nominal, configuration, type_of, averages)
    is_worker = np.array(configuration.data_blocks) > 0
    predicted_s = exchange_s(PROFILE, found.fleet, configuration)[is_worker]
    assert found.fleet.types[0].comp_s_per_instance == pytest.approx(4e-4)
    assert predicted_s.mean() == pytest.approx(0.25)
    assert found.epoch_error(PROFILE, configuration) == 0


def test_a_type_that_only_serves_is_corrected_like_the_others() -> None:
    configuration = Configuration((32, 32, 32, 0, 0, 0, 0, 0), (0, 0, 0, 48, 0, 0, 0, 0))
    averages = MovingAverages(skipped=0, least=1)
    averages.restart(workers_of(configuration))
    for machine in workers_of(configuration):
        averages.observe(machine, 3 * KINDS[0].comp_s_per_instance, 1.0)
    found = calibrated(PROFILE, FLEET, configuration, TYPE_OF, averages)
    assert found.fleet.types[1].comp_s_per_instance == pytest.approx(6e-4)


def test_less_than_five_percent_is_not_worth_it() -> None:
    best = best_configuration(PROFILE, FLEET).configuration
    verdict = review(PROFILE, Calibrated(FLEET), best)
    assert (verdict.reason, verdict.is_change) == (Reason.TOO_LITTLE_GAIN, False)
    assert verdict.gain == pytest.approx(0)


def test_noise_raises_the_bar() -> None:
    assert required_gain((0.02, 0.02)) == 0.05
    assert required_gain((0.2, 0.2)) == pytest.approx(1 - 1 / 1.44)


def test_the_noise_of_a_cost_counts_by_its_part_of_the_epoch() -> None:
    cheap = replace(PROFILE, exchange_bytes=0.0)
    best = best_configuration(PROFILE, FLEET).configuration
    noisy = Calibrated(FLEET, comp_error=0.1, exchange_error=0.5)
    assert noisy.epoch_error(cheap, best) == pytest.approx(0.1)
    assert 0.1 < noisy.epoch_error(PROFILE, best) < 0.5


def test_machines_that_appear_are_used_if_that_is_worth_it() -> None:
    few = Fleet((KINDS[0], MachineType("slow", 0, 2e-4)), FLEET.bandwidth_bytes_per_s)
    old = best_configuration(PROFILE, few).configuration
    padded = Configuration(old.data_blocks + (0,) * 5, old.model_blocks + (0,) * 5)
    verdict = review(PROFILE, Calibrated(FLEET), padded, Change.APPEARED)
    assert verdict.reason is Reason.GAIN
    assert verdict.gain > 0.2


@pytest.mark.parametrize(
    ("change", "reason"), [(Change.RECLAIMED, Reason.DRAIN), (Change.LOST, Reason.RECOVER)]
)
def test_machines_that_go_force_a_new_configuration(change: Change, reason: Reason) -> None:
    left = Fleet((KINDS[0], MachineType("slow", 2, 2e-4)), FLEET.bandwidth_bytes_per_s)
    verdict = review(PROFILE, Calibrated(left), BAD, change)
    assert (verdict.reason, verdict.is_change) == (reason, True)
    assert verdict.choice is not None
    assert len(verdict.choice.configuration.data_blocks) == 5
