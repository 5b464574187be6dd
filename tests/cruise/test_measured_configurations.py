"""Measured configurations overrule predictions."""

from __future__ import annotations

import pytest

from motet.cruise.calibration.averages import Average
from motet.cruise.calibration.fleet_view import FleetView
from motet.cruise.calibration.machine_groups import MachineGroup
from motet.cruise.decision import TuningReason
from motet.cruise.measured_configurations import MeasuredConfigurations
from motet.cruise.search.solver import Choice
from motet.cruise.trigger import Verdict
from motet.estimate.epoch_cost import Configuration, Fleet

BATCHES = 10
FAST, SLOW = Configuration((4, 0, 0), (0, 2, 2)), Configuration((2, 2, 0), (0, 0, 4))
FAST_ON_OTHER_MACHINES = Configuration((0, 0, 4), (2, 2, 0))


def view(current: Configuration, machines: tuple[int, ...] = (0, 1, 2)) -> FleetView:
    group = MachineGroup("a", "a", machines)
    return FleetView((group,), Fleet.uniform(len(machines), 1.0, 1.0), current)


def gain_by(configuration: Configuration) -> Verdict:
    return Verdict(TuningReason.GAIN, Choice(configuration, 5.0), 10.0, 0.5)


STAY = Verdict(TuningReason.TOO_LITTLE_GAIN, Choice(SLOW, 10.0), 10.0, 0.0)


def measured(*configurations: tuple[Configuration, float]) -> MeasuredConfigurations:
    found = MeasuredConfigurations(least_gain=0.05)
    for configuration, batch_s in configurations:
        assert found.record(view(configuration), Average(batch_s, 0.0))
    return found


def test_an_unmeasured_configuration_is_believed() -> None:
    before = measured((SLOW, 1.0))
    assert before.corrected(gain_by(FAST), view(SLOW), Average(1.0, 0.0), BATCHES) == gain_by(FAST)


def test_a_configuration_measured_without_a_gain_is_not_chosen_again() -> None:
    before = measured((FAST, 0.98), (SLOW, 1.0))
    verdict = before.corrected(gain_by(FAST), view(SLOW), Average(1.0, 0.0), BATCHES)
    assert verdict.reason is TuningReason.TOO_LITTLE_GAIN
    assert verdict.gain == pytest.approx(0.02)


def test_equal_counts_on_other_machines_of_the_type_are_the_same_configuration() -> None:
    before = measured((FAST, 0.98), (SLOW, 1.0))
    choice = gain_by(FAST_ON_OTHER_MACHINES)
    verdict = before.corrected(choice, view(SLOW), Average(1.0, 0.0), BATCHES)
    assert verdict.reason is TuningReason.TOO_LITTLE_GAIN


def test_the_job_returns_to_a_faster_configuration() -> None:
    before = measured((FAST, 0.5), (SLOW, 1.0))
    assert before.corrected(STAY, view(SLOW), Average(1.0, 0.0), BATCHES) == Verdict(
        TuningReason.BACK, Choice(FAST, 0.5 * BATCHES), 1.0 * BATCHES, 0.5
    )


def test_a_difference_within_the_noise_causes_no_return() -> None:
    before = measured((FAST, 0.5), (SLOW, 1.0))
    noisy = Average(1.0, 0.4)
    assert before.corrected(STAY, view(SLOW), noisy, BATCHES) == STAY


def test_measurements_on_other_machines_do_not_count() -> None:
    before = measured((FAST, 0.5))
    others = view(SLOW, (0, 1, 3))
    assert before.record(others, Average(1.0, 0.0))
    assert before.corrected(STAY, others, Average(1.0, 0.0), BATCHES) == STAY


def test_a_contradicting_measurement_invalidates_all_earlier_ones() -> None:
    before = measured((FAST, 0.5), (SLOW, 1.0))
    assert not before.record(view(SLOW), Average(2.0, 0.0))
    assert before.corrected(STAY, view(SLOW), Average(2.0, 0.0), BATCHES) == STAY
