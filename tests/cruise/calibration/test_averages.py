"""Moving averages: what counts, when they are ready, and how sure they are."""

from __future__ import annotations

import math

import numpy as np
import pytest

from batch_measurements import measurement
from motet.cruise.calibration.averages import Average, BatchMeasurement, MovingAverages, means_of


def averages_of(*workers: int, least: int = 1, window: int = 50) -> MovingAverages:
    averages = MovingAverages(window=window, skipped=0, least=least)
    averages.restart(workers)
    return averages


def test_every_quantity_is_averaged_by_worker() -> None:
    averages = averages_of(0, 1)
    averages.observe(BatchMeasurement(0, 2.0, 0.5, 3.0, 10, 100.0, 40.0))
    averages.observe(BatchMeasurement(0, 4.0, 1.5, 7.0, 10, 300.0, 80.0))
    averages.observe(BatchMeasurement(1, 1.0, 0.1, 2.0, 4, 10.0, 20.0))
    assert means_of(averages.comp_s()) == pytest.approx({0: 0.3, 1: 0.25})
    assert means_of(averages.batch_comp_s()) == {0: 3.0, 1: 1.0}
    assert means_of(averages.exchange_s()) == {0: 1.0, 1: 0.1}
    assert means_of(averages.batch_s()) == {0: 5.0, 1: 2.0}
    assert averages.pulled_bytes() == {0: 200.0, 1: 10.0}
    assert averages.pushed_bytes() == {0: 60.0, 1: 20.0}
    assert averages.moved_bytes() == {0: 260.0, 1: 30.0}


@pytest.mark.parametrize(("comp_s", "instances"), [(0.0, 10), (1.0, 0)])
def test_a_mini_batch_without_computation_has_no_comp(comp_s: float, instances: int) -> None:
    empty = BatchMeasurement(0, comp_s, 0.5, 1.0, instances, 0.0, 0.0)
    averages = averages_of(0)
    averages.observe(empty)
    assert math.isnan(empty.comp_s_per_instance)
    assert averages.comp_s() == {}
    assert means_of(averages.exchange_s()) == {0: 0.5}
    assert not averages.is_ready


def test_averages_are_ready_when_every_worker_has_warmed_up() -> None:
    averages = MovingAverages(window=10, skipped=3, least=2)
    assert not averages.is_ready
    averages.restart([0, 1])
    for _ in range(5):
        averages.observe(measurement(0, 1.0))
    assert not averages.is_ready
    for _ in range(5):
        averages.observe(measurement(1, 1.0))
    assert averages.is_ready


def test_the_first_mini_batches_and_those_before_the_window_do_not_count() -> None:
    averages = MovingAverages(window=2, skipped=1, least=1)
    averages.restart([0])
    for seconds in (100.0, 50.0, 1.0, 3.0):
        averages.observe(measurement(0, seconds))
    assert averages.comp_s()[0].mean == 2.0


def test_a_restart_drops_everything() -> None:
    averages = averages_of(0)
    averages.observe(measurement(0, 1.0))
    averages.restart([0, 1])
    assert averages.comp_s() == {}


def test_machines_without_a_worker_are_ignored() -> None:
    averages = averages_of(0)
    averages.observe(measurement(9, 1.0))
    assert averages.comp_s() == {}


def test_a_worker_that_is_slowed_down_is_noticed_before_its_window_is_over() -> None:
    slowed, noisy = 0, 1
    averages = averages_of(slowed, noisy, least=5, window=100)
    rng = np.random.default_rng(0)
    for batch in range(60):
        slowed_s = 1.0 if batch < 55 else 4.0
        averages.observe(measurement(slowed, slowed_s * rng.uniform(0.9, 1.1), 1.0))
        averages.observe(measurement(noisy, rng.uniform(0.5, 1.5), 1.0))
    averages.drop_outdated()
    assert averages.comp_s()[slowed].mean == pytest.approx(4.0, rel=0.1)
    assert averages.comp_s()[noisy].mean == pytest.approx(1.0, rel=0.1)


def test_a_slower_exchange_is_a_change_too() -> None:
    averages = averages_of(0, least=5)
    for exchange_s in [1.0] * 10 + [2.0] * 5:
        averages.observe(measurement(0, 1.0, exchange_s))
    averages.drop_outdated()
    assert averages.exchange_s()[0].mean == 2.0


def test_one_value_has_no_known_error() -> None:
    assert Average.of([3.0]) == Average(3.0, 0.0)


def test_the_error_of_few_values_is_wider_than_their_standard_error() -> None:
    average = Average.of([1.0, 2.0, 3.0])
    assert average.mean == 2.0
    assert average.standard_error == pytest.approx(3 / math.sqrt(3))
    many = Average.of([1.0, 3.0] * 300)
    assert many.standard_error == pytest.approx(1 / math.sqrt(600), rel=0.02)
