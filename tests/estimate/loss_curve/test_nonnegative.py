"""The closed form against SciPy's active-set solver."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from motet.estimate.loss_curve.nonnegative import nonnegative_polynomial

"""The first example waits for the kernels."""

seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("degree", [1, 2])
@given(seed=seeds)
def test_the_polynomial_is_scipys_non_negative_least_squares(degree: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sigma, size = 10 ** rng.uniform(-2, 0), int(rng.integers(4, 30))
    tau = np.concatenate([[-1.0], np.sort(rng.uniform(-1, 0, size - 2)), [0.0]])
    u, weights = 1 + sigma * tau, rng.uniform(0.01, 1, size)
    true = rng.random(3) * (rng.random(3) < 0.6)
    values = np.abs(true @ [u * u, u, np.ones(size)] + 0.05 * rng.normal(size=size)) + 0.01
    powers = np.stack([u * u, u, np.ones(size)][2 - degree :], axis=1)
    best, _ = nnls(powers * np.sqrt(weights)[:, None], values * np.sqrt(weights))

    moments = np.array([(weights * tau**i).sum() for i in range(5)])
    sums = np.array([(weights * values * tau**i).sum() for i in range(3)])
    p0, p1, p2 = nonnegative_polynomial(moments, sums, sigma, degree)

    squares = (weights * (p0 + p1 * tau + p2 * tau**2 - values) ** 2).sum()
    least = (weights * (powers @ best - values) ** 2).sum()
    assert squares == pytest.approx(least, rel=1e-6, abs=1e-10)
    a, b = p2 / sigma**2, p1 / sigma - 2 * p2 / sigma**2
    assert min(a, b, p0 - a - b) >= -1e-9 * p0
