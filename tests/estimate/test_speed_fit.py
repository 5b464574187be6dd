"""Speed functions learnt from samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.arrays import Floats
from motet.estimate.speed_fit import NonNegativeFitter, fit_speed
from motet.estimate.speed_function import SpeedMode, speed

ROLES = np.array([(w, p) for w in (1, 2, 4, 8, 16) for p in (1, 2, 4, 8)], dtype=float)
thetas = st.lists(st.one_of(st.just(0.0), st.floats(0.01, 10.0)), min_size=5, max_size=5).filter(
    lambda found: found[0] > 0
)


def measured(mode: SpeedMode, theta: list[float], roles: Floats, noise: float = 0.0) -> Floats:
    parameters = np.array([*theta, 1.0])
    rng = np.random.default_rng(0)
    speeds = [speed(int(mode), parameters, w, p) for w, p in roles]
    return np.column_stack([roles, speeds * np.exp(rng.normal(0, noise, len(roles)))])


@settings(max_examples=examples(50))
@given(theta=thetas, mode=st.sampled_from([SpeedMode.SYNC, SpeedMode.ASYNC]))
def test_exact_samples_of_every_kind_give_the_function_back(
    theta: list[float], mode: SpeedMode
) -> None:
    fitted = fit_speed(measured(mode, theta, ROLES[::2]), mode)
    for w, p, true in measured(mode, theta, ROLES):
        assert fitted.steps_per_s(w, p) == pytest.approx(true, rel=1e-3)


@pytest.mark.parametrize("mode", [SpeedMode.SYNC, SpeedMode.ASYNC])
def test_noisy_samples_predict_what_was_not_measured(mode: SpeedMode) -> None:
    theta = [8.0, 0.5, 0.6, 0.05, 0.05]
    fitted = fit_speed(measured(mode, theta, ROLES[::2], noise=0.03))
    errors = [
        fitted.steps_per_s(w, p) / true - 1 for w, p, true in measured(mode, theta, ROLES[1::2])
    ]
    assert fitted.mode == mode
    assert np.abs(errors).mean() < 0.05
    assert 0.01 < fitted.relative_error < 0.05


def test_parameters_are_never_negative() -> None:
    rng = np.random.default_rng(1)
    samples = np.column_stack([ROLES, rng.uniform(0.1, 10, len(ROLES))])
    assert (fit_speed(samples).parameters >= 0).all()


def test_few_samples_have_large_standard_errors() -> None:
    theta = [8.0, 0.5, 0.6, 0.05, 0.05]
    few = fit_speed(measured(SpeedMode.SYNC, theta, ROLES[:3], 0.05), SpeedMode.SYNC)
    many = fit_speed(measured(SpeedMode.SYNC, theta, ROLES, 0.05), SpeedMode.SYNC)
    assert many.standard_error(4, 4) < 0.05
    assert many.standard_error(64, 1) > many.standard_error(4, 4)
    assert few.standard_error(16, 8) > many.standard_error(16, 8)


def test_cores_alone_need_no_servers() -> None:
    roles = np.array([(w, 0) for w in (1, 4, 16, 64)], dtype=float)
    theta = [100.0, 0.2, 0.0, 0.002, 0.0]
    fitted = fit_speed(measured(SpeedMode.SYNC, theta, roles), SpeedMode.SYNC)
    assert fitted.steps_per_s(32, 0) == pytest.approx(1 / (100 / 32 + 0.2 + 0.064), rel=1e-3)


def test_too_few_samples_say_nothing() -> None:
    mode, parameters = NonNegativeFitter().fit(np.array([[1.0, 1.0, 2.0]]))
    assert mode == SpeedMode.UNKNOWN
    assert np.isnan(parameters).all()
