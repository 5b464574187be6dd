"""Real losses ten iterations ahead: the promised figures, and better than "it stays"."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.loss_scores import CurveScore, Score, scored, shared_curves
from support.training_curves import training_curves


@pytest.fixture(scope="module")
def scores(shared_data: Path) -> list[CurveScore]:
    curves = shared_curves()
    if not curves:
        pytest.skip(f"needs real loss curves: {shared_data.parent / 'curves'} is not there")
    return [scored(name, losses) for name, losses in curves.items()]


@pytest.fixture(scope="module")
def digit_scores() -> list[CurveScore]:
    return [scored(name, losses) for name, losses in training_curves().items()]


def assert_promises(scores: list[CurveScore]) -> None:
    """Convex, EM-like and boosting curves one by one, all curves together."""
    assert [each.name for each in scores if each.is_convex and each.score.p95 > 0.05] == []
    every = Score.pooled(each.score for each in scores)
    assert every.median <= 0.005
    assert every.within_range >= 0.95
    assert every.per_change <= 0.2
    base = every.no_change
    assert (every.median, every.p95) < (base.median / 5, base.p95)


def test_shared_curves_are_foretold_within_the_promised_errors(scores: list[CurveScore]) -> None:
    assert_promises(scores)


@pytest.mark.soak
def test_curves_that_were_not_used_are_foretold_as_well(digit_scores: list[CurveScore]) -> None:
    assert_promises(digit_scores)
