"""Exponential curves, f(x) = floor + height exp(rate x) with rate <= 0, fitted to falling losses.

SLAQ's family for algorithms that converge linearly or faster, f(k) = mu^(k-b) + c (Zhang et al.,
SoCC 2017, section 4.2): rate = log mu, height = mu^(-b), floor = c. The level of a loss and its
local trend are curves of the same form.

`x: (n,)` ascending, the latest is 0, in units of the usual distance between reports.
`y: (n,)` losses. Results are (floor, height, rate); heights are never negative.
"""

from __future__ import annotations

from math import exp, log

import numpy as np
from numba import njit

from motet.domain.arrays import Floats

ExponentialParameters = tuple[float, float, float]

SLOWEST, FASTEST = 1e-3, 1.6
"""Range of tested rates, as decay per unit of x: from almost straight to a fifth left per report.
"""
RATES, HALVINGS = 24, 16

TREND_STEPS = 10
"""Number of latest changes that determine the trend."""
FEWEST_STEPS = 4


@njit(cache=True, error_model="numpy")
def recent_weights(size: int, memory: float) -> Floats:
    """Weights of `size` reports that sum to 1, each `memory` times the next one's."""
    weights = np.empty(size)
    weight, total = 1.0, 0.0
    for i in range(size - 1, -1, -1):
        weights[i] = weight
        total += weight
        weight *= memory
    for i in range(size):
        weights[i] /= total
    return weights


@njit(cache=True, error_model="numpy")
def weighted_mean(y: Floats, weights: Floats) -> float:
    """The mean of losses; weights sum to 1."""
    mean = 0.0
    for i in range(len(y)):
        mean += weights[i] * y[i]
    return mean


@njit(cache=True, error_model="numpy")
def level(y: Floats, memory: float) -> ExponentialParameters:
    """A constant curve at the weighted mean."""
    return weighted_mean(y, recent_weights(len(y), memory)), 0.0, 0.0


@njit(cache=True, error_model="numpy")
def fit_exponential(x: Floats, y: Floats, memory: float) -> ExponentialParameters:
    """The curve with the least weighted squares; recent reports have larger weights."""
    weights = recent_weights(len(y), memory)
    rate = _best_rate(x, y, weights)
    _, height, floor = _at_rate(x, y, weights, weighted_mean(y, weights), rate)
    return floor, height, rate


@njit(cache=True, error_model="numpy")
def _best_rate(x: Floats, y: Floats, weights: Floats) -> float:
    """The best rate of a geometric grid, refined by halving the distance around it."""
    mean = weighted_mean(y, weights)
    best, least = 0.0, np.inf
    step = log(FASTEST / SLOWEST) / (RATES - 1)
    for i in range(RATES):
        error = _at_rate(x, y, weights, mean, -SLOWEST * exp(i * step))[0]
        if error < least:
            best, least = i * step, error
    for _ in range(HALVINGS):
        step /= 2
        centre = best
        for side in (-step, step):
            error = _at_rate(x, y, weights, mean, -SLOWEST * exp(centre + side))[0]
            if error < least:
                best, least = centre + side, error
    return -SLOWEST * exp(best)


@njit(cache=True, error_model="numpy")
def _at_rate(
    x: Floats, y: Floats, weights: Floats, mean: float, rate: float
) -> tuple[float, float, float]:
    """Squared error, height and floor of the best curve of this rate."""
    middle, square, cross, total = 0.0, 0.0, 0.0, 0.0
    for i in range(len(x)):
        power = exp(min(rate * x[i], 300.0))
        miss = y[i] - mean
        middle += weights[i] * power
        square += weights[i] * power * power
        cross += weights[i] * power * miss
        total += weights[i] * miss * miss
    spread = square - middle * middle
    if cross <= 0.0 or spread <= 0.0:
        return total, 0.0, mean
    height = cross / spread
    return total - height * cross, height, mean - height * middle


@njit(cache=True, error_model="numpy")
def local_trend(x: Floats, y: Floats, seen: int) -> ExponentialParameters:
    """A curve that continues the latest changes and their decay; constant if the loss does not
    fall.

    The mean decrease per unit of x in the later half of the latest `TREND_STEPS` changes, and its
    ratio to the earlier half's. The ratio is kept below 1 - 1/`seen`, so that the total further
    decrease is at most `seen` times today's decrease per report, and the prediction has a floor.
    """
    steps = min(TREND_STEPS, len(y) - 1)
    if steps < FEWEST_STEPS:
        return y[-1], 0.0, 0.0
    half = steps // 2
    earlier, earlier_at = _mean_fall(x, y, len(y) - 1 - steps, half)
    later, later_at = _mean_fall(x, y, len(y) - 1 - half, half)
    if later <= 0.0:
        return y[-1], 0.0, 0.0
    rate = 0.0
    if earlier > later:
        rate = (log(later) - log(earlier)) / (later_at - earlier_at)
    next_fall = later * exp(rate * (0.5 - later_at))
    rate = min(rate, log(1 - 1 / max(seen, 2)))
    height = next_fall / (1 - exp(rate))
    return y[-1] - height, height, rate


@njit(cache=True, error_model="numpy")
def _mean_fall(x: Floats, y: Floats, first: int, steps: int) -> tuple[float, float]:
    """Mean decrease per unit of x over some changes, and the middle of them."""
    last = first + steps
    fall = (y[first] - y[last]) / (x[last] - x[first])
    return fall, (x[first] + x[last]) / 2
