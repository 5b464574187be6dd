"""Models of one and of many jobs: units, limits, questions the other way round."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import curve_fit

from motet.domain.arrays import Floats
from motet.domain.errors import BadInput
from motet.estimate.loss_curve.members import Member
from motet.estimate.loss_curve.predictor import LossModel, LossPredictor

AHEAD = np.array([0.0, 1, 10, 1000])


def falling(seed: int, size: int = 30) -> Floats:
    """A loss that falls by a random power law with some noise."""
    rng = np.random.default_rng(seed)
    k = np.arange(1.0, size + 1)
    return k ** -rng.uniform(0.2, 2) + rng.choice([0, 1e-3, 3e-2]) * rng.normal(size=size)


def fit(losses: Floats, spacing: float = 1.0) -> LossModel:
    iterations = spacing * np.arange(1, len(losses) + 1)
    return LossPredictor().fit(iterations, losses)


def after(model: LossModel, spacing: float = 1.0) -> Floats:
    """Predictions 0, 1, 10 and 1000 reports ahead."""
    return model.predict(model.models.latest[0] + spacing * AHEAD)


"""The first example waits for the kernels."""

seeds = st.integers(0, 10_000)


@given(seeds, st.sampled_from([1e-6, 0.3, 1e6]), st.sampled_from([0.0, 5.0, -20.0]))
def test_predictions_scale_and_shift_with_the_losses(seed: int, scale: float, shift: float) -> None:
    losses = falling(seed)
    moved = scale * (losses + shift)
    expected = scale * (after(fit(losses)) + shift)
    np.testing.assert_allclose(after(fit(moved)), expected, atol=1e-4 * np.ptp(moved), rtol=0)


@given(seeds, st.sampled_from([0.1, 7.0, 1000.0]))
def test_predictions_do_not_depend_on_how_many_iterations_a_report_covers(
    seed: int, spacing: float
) -> None:
    losses = falling(seed)
    np.testing.assert_allclose(
        after(fit(losses, spacing), spacing), after(fit(losses)), atol=1e-4, rtol=0
    )


@given(seeds)
def test_losses_that_rise_are_the_mirror_image(seed: int) -> None:
    losses = falling(seed)
    np.testing.assert_allclose(after(fit(-losses)), -after(fit(losses)), atol=1e-9)


@given(seeds)
def test_a_fit_repeats_to_the_bit_and_does_not_depend_on_other_jobs(seed: int) -> None:
    losses = falling(seed)
    history = (np.arange(len(losses)), losses)
    other = (np.arange(12), falling(seed + 1, 12))
    alone = LossPredictor().fit(*history)
    among = LossPredictor().fit_many([other, history, other])
    at = len(losses) + AHEAD
    assert alone.predict(at).tolist() == among.predict(np.stack([at, at, at]))[1].tolist()


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=60))
def test_any_history_gives_finite_monotonic_predictions(losses: list[float]) -> None:
    model = fit(np.array(losses))
    predicted = after(model)
    slack = 1e-9 * (1 + np.abs(predicted).max())
    changes = np.diff(predicted) * np.sign(-model.models.unit[0])
    assert np.isfinite(predicted).all()
    assert (changes >= -slack).all()
    assert math.isfinite(model.limit)


@pytest.mark.parametrize("losses", [[2.0], [3.0, 2.0], [4.0, 3.0, 2.0]])
def test_up_to_three_reports_stay_with_unknown_error(losses: list[float]) -> None:
    model = fit(np.array(losses))
    assert after(model).tolist() == [2, 2, 2, 2]
    assert model.error == math.inf
    assert model.chosen == Member.NO_CHANGE


def test_a_loss_that_does_not_vary_stays() -> None:
    model = fit(np.full(20, 0.7))
    assert after(model).tolist() == [0.7] * 4
    assert (model.error, model.limit) == (0, 0.7)
    assert model.iterations_to_converge(0) == 20


def test_the_curves_family_is_chosen_and_the_error_measures_the_fit() -> None:
    k = np.arange(1, 41)
    model = fit(2 * 0.9**k + 1)
    assert model.chosen in (Member.SLAQ_LINEAR_SHORT, Member.SLAQ_LINEAR_LONG)
    assert model.predict(50.0) == pytest.approx(2 * 0.9**50 + 1, abs=1e-4)
    assert model.error < 1e-4
    assert model.error_horizon == 10
    assert sum(model.shares.values()) == pytest.approx(1)


def test_noise_about_a_level_is_foretold_better_by_its_level_than_by_its_last_value() -> None:
    rng = np.random.default_rng(0)
    misses, stays = [], []
    for _ in range(200):
        losses = 1 + 0.1 * rng.normal(size=40)
        misses.append(abs(fit(losses).predict(50.0) - 1))
        stays.append(abs(losses[-1] - 1))
    assert np.mean(misses) < 0.9 * np.mean(stays)


def test_a_spike_does_not_move_the_prediction() -> None:
    losses = 2 * 0.9 ** np.arange(30) + 1
    spiked = losses.copy()
    spiked[20] = 50
    assert fit(spiked).predict(40.0) == pytest.approx(float(fit(losses).predict(40.0)), abs=0.01)


@given(seeds, st.floats(0.05, 0.95))
def test_iterations_to_a_loss_are_the_first_that_reach_it(seed: int, part: float) -> None:
    model = fit(falling(seed))
    now, end = float(model.predict(30.0)), model.limit
    wanted = now - part * (now - end)
    reached = model.iterations_to(wanted)
    if math.isfinite(reached) and reached > 30:
        slack = 1e-6 * abs(now - end)
        assert model.predict(reached) <= wanted + slack
        assert model.predict(max(30.0, reached - 1)) >= wanted - slack


def test_a_loss_below_the_limit_is_never_reached_and_one_above_already() -> None:
    model = fit(2 * 0.9 ** np.arange(40.0) + 1)
    assert model.iterations_to(0.9) == math.inf
    assert model.iterations_to(3) == 40
    assert fit(np.arange(20.0)).iterations_to(-1) == math.inf


def test_iterations_to_converge_on_a_curve_that_is_known() -> None:
    model = fit(2 * 0.9 ** np.arange(1, 41.0) + 1)
    # One more iteration changes 2 * 0.9^k by 0.2 * 0.9^k: at most 1e-4 from k = 72.1 on.
    assert model.iterations_to_converge(1e-4) == 73


def test_many_jobs_answer_in_rows() -> None:
    k = np.arange(1, 41.0)
    models = LossPredictor().fit_many([(k, 0.9**k), (10 * k, 8 * 0.9**k), ([3], [5.0])])
    assert models.predict([50, 500, 4]) == pytest.approx([0.9**50, 8 * 0.9**50, 5], abs=1e-4)
    assert models.latest.tolist() == [40, 400, 3]
    assert models.largest_change == pytest.approx([0.09, 0.72, 0])
    falls = models.normalised_falls([[41, 50], [410, 500], [4, 5]])
    one, ten = (0.9**40 - 0.9**41) / 0.09, (0.9**40 - 0.9**50) / 0.09
    np.testing.assert_allclose(falls, [[one, ten], [one, ten], [0, 0]], atol=1e-3)
    assert models.iterations_to([0.9**50 + 1e-6, -1, 9]).tolist() == [50, math.inf, 3]


def test_a_fit_takes_a_small_multiple_of_scipys_fit_of_one_family() -> None:
    """Three times, as measured; the target in milliseconds is that of benchmarks/loss_curves.py."""

    def family(k: Floats, fall: float, limit: float) -> Floats:
        return fall / (k + 1) + limit

    def cpu_s(work: Callable[[], object]) -> float:
        began_s = time.process_time()
        work()
        return time.process_time() - began_s

    histories = [(np.arange(60), falling(seed, 60)) for seed in range(200)]
    LossPredictor().fit_many(histories[:1])
    ours_s = cpu_s(lambda: LossPredictor().fit_many(histories))
    theirs_s = cpu_s(lambda: [curve_fit(family, *each) for each in histories])
    assert ours_s < 8 * theirs_s


def test_no_jobs_have_no_models() -> None:
    models = LossPredictor().fit_many([])
    assert len(models) == 0
    assert models.predict(np.empty(0)).tolist() == []


def test_the_past_is_not_predicted() -> None:
    with pytest.raises(BadInput, match="none may lie before the latest report"):
        fit(falling(0)).predict(29.0)


def test_a_horizon_of_nothing_is_refused() -> None:
    with pytest.raises(BadInput, match="horizon=0: must be at least 1 report"):
        LossPredictor(horizon=0)
