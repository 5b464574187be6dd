"""A blend of members, weighted by their errors in back-tests on earlier histories.

A back-test removes the last reports, fits all members to the rest and compares their predictions of
the report `horizon` later with its value. Weights are the inverse squares of the mean errors of the
latest back-tests: optimal for independent members without bias; a member that is much better than
the others dominates the blend.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from motet.domain.arrays import Floats, Ints
from motet.estimate.loss_curve.history import falls, usual_spacing, without_spikes
from motet.estimate.loss_curve.hyperbola import lowest_and_highest
from motet.estimate.loss_curve.members import MEMBERS, PARAMETERS, fit_members, limit, value_at

BACK_TESTS = 5
SHARE = 3
"""At most a third of the history lies between a cut and the predicted report."""
FEWEST_REPORTS = 3
"""A shorter history is not fitted; its loss is predicted to stay constant."""
ROUNDING = 1e-12
"""Errors below this fraction of the losses' range count as equal."""


@njit(cache=True)
def fit_blends(
    iterations: Floats, losses: Floats, ends: Ints, horizon: int
) -> tuple[Floats, Floats, Floats]:
    """All jobs: tables `(jobs, members, 4)`, weights `(jobs, members)`, and scalars `(jobs, 5)`.

    Job i's reports end before row `ends[i]`. Tables are in a job's own units, x and y, where
    iteration = latest iteration + spacing x and loss = latest loss + unit y. The scalars: spacing;
    latest loss; unit, negative where losses rise; mean error of the blend in the back-tests, in
    losses, and the horizon of the back-tests in iterations.
    """
    jobs = len(ends)
    tables = np.zeros((jobs, MEMBERS, PARAMETERS))
    weights = np.zeros((jobs, MEMBERS))
    scalars = np.zeros((jobs, 5))
    first = 0
    for job in range(jobs):
        last = ends[job]
        _fit_blend(
            iterations[first:last],
            losses[first:last],
            horizon,
            tables[job],
            weights[job],
            scalars[job],
        )
        first = last
    return tables, weights, scalars


@njit(cache=True)
def _fit_blend(
    iterations: Floats,
    losses: Floats,
    horizon: int,
    table: Floats,
    weights: Floats,
    scalars: Floats,
) -> None:
    """Fit one job and write its rows."""
    clean = without_spikes(losses)
    spacing = usual_spacing(iterations)
    low, high = lowest_and_highest(clean)
    unit = high - low
    scalars[0], scalars[1], scalars[3] = spacing, clean[-1], np.inf
    scalars[2] = unit if falls(clean) else -unit
    weights[0] = 1.0
    if len(clean) <= FEWEST_REPORTS:
        return
    if unit == 0.0:
        scalars[3] = 0.0
        return
    x = _relative(iterations, len(iterations), spacing)
    y = _relative(clean, len(clean), scalars[2])
    latest = iterations[-1] / spacing
    steps = min(horizon, max(1, len(y) // SHARE))
    predicted, true = _back_test(x, y, latest, steps)
    _weigh(predicted, true, weights)
    scalars[3] = _mean_error(predicted, true, weights) * unit
    scalars[4] = iterations[-1] - iterations[-1 - steps]
    fit_members(x, y, latest, table)


@njit(cache=True)
def _relative(values: Floats, count: int, unit: float) -> Floats:
    """The first `count` values, relative to the last of them, in units."""
    relative = np.empty(count)
    for i in range(count):
        relative[i] = (values[i] - values[count - 1]) / unit
    return relative


@njit(cache=True)
def _back_test(x: Floats, y: Floats, latest: float, steps: int) -> tuple[Floats, Floats]:
    """Predictions `(tests, members)` and actual values `(tests,)`, the latest first."""
    tests = min(BACK_TESTS, len(y) - steps - FEWEST_REPORTS + 1)
    predicted = np.empty((tests, MEMBERS))
    true = np.empty(tests)
    table = np.zeros((MEMBERS, PARAMETERS))
    for test in range(tests):
        cut = len(y) - steps - test
        now, then = x[cut - 1], x[cut - 1 + steps]
        fit_members(_relative(x, cut, 1.0), y[:cut], latest + now, table)
        true[test] = y[cut - 1 + steps]
        for member in range(MEMBERS):
            predicted[test, member] = value_at(table[member], member, then - now)
    return predicted, true


@njit(cache=True)
def _weigh(predicted: Floats, true: Floats, weights: Floats) -> None:
    """Weights of the members, inverse to their squared mean errors."""
    total = 0.0
    for member in range(MEMBERS):
        error = ROUNDING
        for test in range(len(true)):
            error += abs(predicted[test, member] - true[test]) / len(true)
        weights[member] = 1 / (error * error) if np.isfinite(error) else 0.0
        total += weights[member]
    for member in range(MEMBERS):
        weights[member] /= total


@njit(cache=True)
def _mean_error(predicted: Floats, true: Floats, weights: Floats) -> float:
    total = 0.0
    for test in range(len(true)):
        miss = -true[test]
        for member in range(MEMBERS):
            if weights[member] > 0.0:
                miss += weights[member] * predicted[test, member]
        total += abs(miss)
    return total / len(true)


@njit(cache=True)
def blended(table: Floats, weights: Floats, x: float) -> float:
    """y at x."""
    y = 0.0
    for member in range(MEMBERS):
        if weights[member] > 0.0:
            y += weights[member] * value_at(table[member], member, x)
    return y


@njit(cache=True)
def blends_at(tables: Floats, weights: Floats, x: Floats) -> Floats:
    """y of every job at its row of `x: (jobs, n)`."""
    y = np.empty_like(x)
    for job in range(len(x)):
        for i in range(x.shape[1]):
            y[job, i] = blended(tables[job], weights[job], x[job, i])
    return y


@njit(cache=True)
def blended_limits(tables: Floats, weights: Floats) -> Floats:
    """y of every job in the limit, `(jobs,)`."""
    y = np.zeros(len(tables))
    for job in range(len(tables)):
        for member in range(MEMBERS):
            if weights[job, member] > 0.0:
                y[job] += weights[job, member] * limit(tables[job, member], member)
    return y
