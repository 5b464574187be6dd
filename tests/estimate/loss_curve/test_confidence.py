"""Margins of predictions and the confidence in them: units, extremes, coverage of real curves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.arrays import Floats
from motet.domain.errors import BadInput
from motet.estimate.loss_curve.blend import errors_at
from motet.estimate.loss_curve.confidence import confidence as confidence_of
from motet.estimate.loss_curve.predictor import COVERAGES, LossModel, LossPredictor
from support.loss_coverage import covered
from support.network_curves import network_curves
from support.training_curves import training_curves

AHEAD = np.array([1.0, 5, 10, 40])
seeds = st.integers(0, 10_000)


def noisy(seed: int, size: int = 40, noise: float = 0.02) -> Floats:
    """A loss that falls by a random power law under noise."""
    rng = np.random.default_rng(seed)
    k = np.arange(1.0, size + 1)
    return k ** -rng.uniform(0.2, 2) + noise * rng.normal(size=size)


def fit(losses: Floats, spacing: float = 1.0) -> LossModel:
    return LossPredictor().fit(spacing * np.arange(1, len(losses) + 1), losses)


def margins(model: LossModel, spacing: float = 1.0, coverage: float = 0.9) -> Floats:
    return model.margin(model.models.latest[0] + spacing * AHEAD, coverage)


def confidence(model: LossModel, spacing: float = 1.0) -> Floats:
    return model.confidence(model.models.latest[0] + spacing * AHEAD)


@given(seeds, st.sampled_from([1e-6, 0.3, 1e6]), st.sampled_from([0.0, -20.0]))
def test_margins_scale_with_losses_and_the_confidence_does_not(
    seed: int, scale: float, shift: float
) -> None:
    losses = noisy(seed)
    plain, moved = fit(losses), fit(scale * (losses + shift))
    tolerance = 1e-4 * scale * np.ptp(losses)
    np.testing.assert_allclose(margins(moved), scale * margins(plain), atol=tolerance, rtol=1e-3)
    np.testing.assert_allclose(confidence(moved), confidence(plain), atol=1e-2)


@given(seeds, st.sampled_from([0.1, 7.0, 1000.0]))
def test_margins_do_not_depend_on_the_iterations_between_reports(seed: int, spacing: float) -> None:
    losses = noisy(seed)
    plain, spaced = fit(losses), fit(losses, spacing)
    np.testing.assert_allclose(margins(spaced, spacing), margins(plain), atol=1e-3)
    np.testing.assert_allclose(confidence(spaced, spacing), confidence(plain), atol=1e-2)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=60))
def test_any_history_has_margins_and_a_confidence(losses: list[float]) -> None:
    model = fit(np.array(losses))
    half, most = margins(model, coverage=0.5), margins(model, coverage=0.95)
    assert (half >= 0).all()
    assert (half <= most).all()
    assert np.isfinite(most).all() == (len(losses) > 3)
    assert ((confidence(model) >= 0) & (confidence(model) <= 1)).all()


@pytest.mark.parametrize("losses", [[2.0], [2.0, 2.0], [4.0, 3.0, 2.0]])
def test_up_to_three_reports_give_no_confidence(losses: list[float]) -> None:
    model = fit(np.array(losses))
    assert margins(model).tolist() == [math.inf] * 4
    assert confidence(model).tolist() == [0] * 4


def test_an_exact_curve_is_certain_and_noise_about_a_level_is_not() -> None:
    exact = fit(2 * 0.9 ** np.arange(1, 41.0) + 1)
    assert (confidence(exact) > 0.99).all()
    assert (margins(exact) < 1e-4).all()
    rng = np.random.default_rng(0)
    level = [confidence(fit(1 + 0.1 * rng.normal(size=40))) for _ in range(50)]
    assert np.mean(level) < 0.5


def test_reports_with_noise_make_margins_wide_but_a_clear_trend_stays_certain() -> None:
    """The noise is ten times the fall of a step; the curves agree on the trend."""
    rng = np.random.default_rng(0)
    k = np.arange(1.0, 121)
    models = [fit(3 - 0.01 * k + 0.1 * rng.normal(size=len(k))) for _ in range(50)]
    assert np.mean([margins(model)[2] for model in models]) > 0.1
    assert np.mean([confidence(model)[3] for model in models]) > 0.5


def test_margins_grow_with_the_noise_and_with_the_distance() -> None:
    quiet, loud = (
        np.mean([margins(fit(noisy(seed, noise=noise))) for seed in range(50)], axis=0)
        for noise in (0.01, 0.1)
    )
    assert (loud > 3 * quiet).all()
    assert (np.diff(quiet) > 0).all()


def test_margins_far_beyond_all_reports_are_in_proportion_to_the_distance() -> None:
    models = LossPredictor().fit_many(
        [([k + 1 for k in range(40)], noisy(seed)) for seed in (0, 1)]
    )
    assert (models.errors[0] > 0).any()
    near, far = (errors_at(models.errors, np.full((2, 1), x)) for x in (1e6, 1e30))
    np.testing.assert_allclose(far / near, 1e24)


def test_an_infinite_change_is_not_certain() -> None:
    assert confidence_of(np.array([np.inf, 1.0]), np.array([0.1, 1.0])).tolist() == [0.0, 0.5]


def test_a_constant_loss_has_no_margin_and_no_predicted_change() -> None:
    model = fit(np.full(20, 0.7))
    assert margins(model).tolist() == [0] * 4
    assert confidence(model).tolist() == [0] * 4


def test_many_jobs_answer_in_rows() -> None:
    losses = noisy(0)
    k = np.arange(1.0, len(losses) + 1)
    models = LossPredictor().fit_many([(k, losses), ([3], [5.0])])
    at = [[41, 50], [3, 4]]
    assert models.margin(at)[0].tolist() == fit(losses).margin([41, 50]).tolist()
    assert models.confidence([50, 4]).tolist() == [fit(losses).confidence(50), 0]


@pytest.mark.parametrize("coverage", [0.4, 0.96, math.nan])
def test_a_coverage_that_was_not_calibrated_is_refused(coverage: float) -> None:
    with pytest.raises(BadInput, match=f"coverage={coverage}: must be within 0.5 and 0.95"):
        fit(noisy(0)).margin(50, coverage)


@pytest.mark.soak
def test_margins_contain_the_losses_of_curves_that_they_were_not_calibrated_on() -> None:
    """On average over the curves of a kind, near the nominal part; no curve is far below."""
    found = {name: covered(losses, 10) for name, losses in training_curves().items()}
    networks = {name: covered(losses, 10) for name, losses in network_curves().items()}
    for group in (found, networks):
        parts = np.array(list(group.values()))
        np.testing.assert_allclose(parts.mean(axis=0), COVERAGES, atol=0.1)
        assert (parts.min(axis=0) > np.array(COVERAGES) - 0.3).all()
