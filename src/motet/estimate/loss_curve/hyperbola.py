"""Hyperbolic curves, f(k) = 1 / (a k^2 + b k + c) + d with a, b, c >= 0, fitted to falling losses.

SLAQ's family for sublinear algorithms (Zhang et al., SoCC 2017, section 4.2); with a = 0 it is
Optimus' l(k) = 1 / (b0 k + b1) + b2 (Peng et al., EuroSys 2018, section 3.1). For a given floor d
the reciprocals 1 / (l - d) are a polynomial: non-negative least squares, weighted by (l - d)^4 so
that errors count as errors of the loss. The search for the floor covers values below the least
loss.

Departure: Optimus requires b2 >= 0. Here the floor may be negative, as losses may be.
"""

from __future__ import annotations

from math import exp, log

import numpy as np
from numba import njit

from motet.domain.arrays import Floats
from motet.estimate.loss_curve.exponential import recent_weights, weighted_mean
from motet.estimate.loss_curve.nonnegative import nonnegative_polynomial

HyperbolaParameters = tuple[float, float, float, float]

NEAREST, FARTHEST = 3e-4, 30.0
"""Range of tested floors, as distances below the least loss, per range of the losses."""
FLOORS, HALVINGS = 24, 16
FEWEST_REPORTS = 3


@njit(cache=True, error_model="numpy")
def fit_hyperbola(
    x: Floats, y: Floats, memory: float, latest: float, degree: int
) -> HyperbolaParameters:
    """(floor d, p0, p1, p2) of f(x) = d + 1 / (p0 + p1 x + p2 x^2) with the least squares.

    `x: (n,)` ascending, the latest is 0; `latest`: the iteration k at x = 0, in units of x. So
    p0 + p1 x + p2 x^2 = a k^2 + b k + c with k = latest + x. `degree`: 2, or 1 for a = 0. Constant
    losses get p0 = infinity: f = d.
    """
    weights = recent_weights(len(y), memory)
    low, high = lowest_and_highest(y)
    if high > low and len(y) >= FEWEST_REPORTS:
        length = -x[0]
        floor = low - _best_depth(x, y, weights, latest, degree, low, high - low)
        error, p0, p1, p2 = _at_floor(x, y, weights, latest, degree, floor)
        if np.isfinite(error):
            return floor, p0, p1 / length, p2 / (length * length)
    return weighted_mean(y, weights), np.inf, 0.0, 0.0


@njit(cache=True, error_model="numpy")
def lowest_and_highest(y: Floats) -> tuple[float, float]:
    """The minimum and the maximum of the losses."""
    low, high = y[0], y[0]
    for i in range(1, len(y)):
        low, high = min(low, y[i]), max(high, y[i])
    return low, high


@njit(cache=True, error_model="numpy")
def _best_depth(
    x: Floats, y: Floats, weights: Floats, latest: float, degree: int, low: float, span: float
) -> float:
    """Distance of the best floor below the least loss; searched as rates are."""
    best, least = 0.0, np.inf
    nearest = span * NEAREST
    step = log(FARTHEST / NEAREST) / (FLOORS - 1)
    for i in range(FLOORS):
        floor = low - nearest * exp(i * step)
        error = _at_floor(x, y, weights, latest, degree, floor)[0]
        if error < least:
            best, least = i * step, error
    for _ in range(HALVINGS):
        step /= 2
        centre = best
        for side in (-step, step):
            floor = low - nearest * exp(centre + side)
            error = _at_floor(x, y, weights, latest, degree, floor)[0]
            if error < least:
                best, least = centre + side, error
    return nearest * exp(best)


@njit(cache=True, error_model="numpy")
def _at_floor(
    x: Floats, y: Floats, weights: Floats, latest: float, degree: int, floor: float
) -> tuple[float, float, float, float]:
    """Squared error of the best curve with this floor; its coefficients in tau = x / length."""
    length = -x[0]
    per_length = 1 / length
    moments = np.zeros(5)
    sums = np.zeros(3)
    for i in range(len(y)):
        above = y[i] - floor
        cubed = weights[i] * above * above * above
        weight = cubed * above
        t = x[i] * per_length
        moments[0] += weight
        moments[1] += weight * t
        moments[2] += weight * t * t
        moments[3] += weight * t * t * t
        moments[4] += weight * t * t * t * t
        sums[0] += cubed
        sums[1] += cubed * t
        sums[2] += cubed * t * t
    p0, p1, p2 = nonnegative_polynomial(moments, sums, length / latest, degree)
    error = 0.0
    for i in range(len(y)):
        t = x[i] * per_length
        miss = floor + 1 / (p0 + t * (p1 + t * p2)) - y[i]
        error += weights[i] * miss * miss
    return error, p0, p1, p2
