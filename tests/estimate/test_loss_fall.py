"""How far losses will fall, in units in which jobs compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from motet.domain.estimates import Estimates, LossForecasts
from motet.estimate.loss_fall import normalised_falls

NAN = float("nan")
STEPS = np.array([[0.0, 1.0, 2.0, 5.0]])


@dataclass(frozen=True)
class Lines:
    """A loss that falls by `slope` with every step, from `start` at step 0."""

    start: float
    slope: float
    apart: float = 0.0

    def __len__(self) -> int:
        return 1

    def predict(self, iterations: Any, /) -> Any:
        return self.start - self.slope * np.asarray(iterations)

    def disagreement(self, iterations: Any, /) -> Any:
        return np.full(np.shape(iterations), self.apart)

    def iterations_to(self, losses: Any, /) -> Any:
        raise NotImplementedError


def falls(
    forecasts: LossForecasts | None = None, *, is_weighed: bool = False, **columns: float
) -> list[float]:
    """Of one job that has done ten steps, its loss from 8 to 4, at most 2 with one of them."""
    usual = {
        "steps_done": 10.0,
        "loss": 4.0,
        "first_loss": 8.0,
        "largest_change": 2.0,
        "target_loss": NAN,
        "planned_steps": NAN,
        "steps_left": NAN,
    }
    known: dict[str, Any] = {name: np.array([value]) for name, value in (usual | columns).items()}
    speed = np.full((1, 6), NAN)
    estimates = Estimates(
        **known, forecasts=forecasts, speed_mode=np.zeros(1, dtype=np.int64), speed=speed
    )
    found: list[float] = normalised_falls(estimates, STEPS, is_weighed)[0].tolist()
    return found


def test_a_fall_is_counted_in_the_largest_changes_of_a_step() -> None:
    assert falls(Lines(8.0, 0.4)) == pytest.approx([0.0, 0.2, 0.4, 1.0])


def test_nothing_falls_after_the_last_planned_step() -> None:
    assert falls(Lines(8.0, 0.4), planned_steps=12.0) == pytest.approx([0.0, 0.2, 0.4, 0.4])


def test_a_job_without_reports_is_taken_to_converge_slowly() -> None:
    new = {"steps_done": 0.0, "loss": NAN, "first_loss": NAN, "largest_change": 0.0}
    assert falls(None, **new) == pytest.approx([0.0, 1.0, 4 / 3, 5 / 3])


@pytest.mark.parametrize("slope", [0.0, -0.1])
def test_one_that_does_not_fall_counts_for_less_and_less(slope: float) -> None:
    early, late = (falls(Lines(4.0, slope), steps_done=done)[-1] for done in (10.0, 1000.0))
    assert 0 < late < early / 1000
    assert early < falls(Lines(8.0, 0.4))[-1]


def test_with_a_target_the_loss_approaches_it_at_the_same_rate() -> None:
    """Ten steps halved the distance of 8: so will the next ten."""
    found = falls(Lines(4.0, 0.0), target_loss=0.0, steps_left=np.inf)
    left = 4.0 * 0.5 ** (STEPS[0] / 10)
    assert found == pytest.approx(((4.0 - left) / 2.0).tolist())


def test_a_reachable_target_changes_nothing() -> None:
    found = falls(Lines(8.0, 0.4), target_loss=1.0, steps_left=8.0)
    assert found == pytest.approx([0.0, 0.2, 0.4, 1.0])


def test_a_target_overrides_a_curve_that_never_reaches_it() -> None:
    found = falls(Lines(4.001, 0.0001), target_loss=0.0, steps_left=np.inf)
    assert found[-1] > 0.3


SUBLINEAR = 2 * (1 / 11 - 1 / (11 + STEPS[0]))
"""The default of a job that has done ten steps."""


@pytest.mark.parametrize(("apart", "trust"), [(np.inf, 0.0), (6.0, 0.25), (2.0, 0.5), (0.0, 1.0)])
def test_a_curve_is_weighed_against_the_default_by_its_confidence(
    apart: float, trust: float
) -> None:
    """The fall in the last of the steps is 2."""
    found = falls(Lines(8.0, 0.4, apart), is_weighed=True)
    curve = 0.4 * STEPS[0] / 2.0
    assert found == pytest.approx((trust * curve + (1 - trust) * SUBLINEAR).tolist())


def test_with_a_target_an_uncertain_curve_is_weighed_against_the_way_there() -> None:
    found = falls(Lines(8.0, 0.4, np.inf), is_weighed=True, target_loss=0.0, steps_left=10.0)
    assert found == pytest.approx(((4.0 - 4.0 * 0.5 ** (STEPS[0] / 10)) / 2.0).tolist())


def test_without_a_prediction_there_is_nothing_to_weigh() -> None:
    flat, hint = Lines(4.0, 0.0, 0.3), {"target_loss": 0.0, "steps_left": np.inf}
    assert falls(flat, is_weighed=True) == falls(flat)
    assert falls(flat, is_weighed=True, **hint) == falls(flat, **hint)
    assert falls(None, is_weighed=True, loss=NAN) == falls(None, loss=NAN)
