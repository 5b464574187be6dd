"""A blend of members, weighted by their errors in back-tests on earlier histories.

A back-test removes the last reports, fits all members to the rest and compares their predictions of
the report `horizon` later with its value. Weights are the inverse squares of the mean errors of the
latest back-tests: optimal for independent members without bias; a member that is much better than
the others dominates the blend. The errors of the blend at all shorter horizons come from the same
fits; together with the disagreement of the members they are the scale of its errors.
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
) -> tuple[Floats, Floats, Floats, Floats]:
    """All jobs: tables `(jobs, members, 4)`, weights `(jobs, members)`, errors `(jobs, horizon +
    1)`, and scalars `(jobs, 5)`.

    Job i's reports end before row `ends[i]`. Tables are in a job's own units, x and y, where
    iteration = latest iteration + spacing x and loss = latest loss + unit y. Errors: of the blend
    in the back-tests, by horizon in reports, in y; they ascend. The scalars: spacing; latest loss;
    unit, negative where losses rise; mean error of the blend at the horizon of the back-tests, in
    losses, and that horizon in iterations.
    """
    jobs = len(ends)
    tables = np.zeros((jobs, MEMBERS, PARAMETERS))
    weights = np.zeros((jobs, MEMBERS))
    errors = np.zeros((jobs, horizon + 1))
    scalars = np.zeros((jobs, 5))
    first = 0
    for job in range(jobs):
        last = ends[job]
        _fit_blend(
            iterations[first:last],
            losses[first:last],
            tables[job],
            weights[job],
            errors[job],
            scalars[job],
        )
        first = last
    return tables, weights, errors, scalars


@njit(cache=True)
def _fit_blend(
    iterations: Floats,
    losses: Floats,
    table: Floats,
    weights: Floats,
    errors: Floats,
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
        errors[:] = np.inf
        return
    if unit == 0.0:
        scalars[3] = 0.0
        return
    x = _relative(iterations, len(iterations), spacing)
    y = _relative(clean, len(clean), scalars[2])
    latest = iterations[-1] / spacing
    steps = min(len(errors) - 1, max(1, len(y) // SHARE))
    predicted, true = _back_test(x, y, latest, steps)
    _weigh(predicted[:, steps], true[:, steps], weights)
    _put_errors(predicted, true, weights, errors)
    scalars[3] = _mean_error(predicted[:, steps], true[:, steps], weights) * unit
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
    """Predictions `(tests, steps + 1, members)` of the reports after a cut, and actual values
    `(tests, steps + 1)`, the latest first.
    """
    tests = min(BACK_TESTS, len(y) - steps - FEWEST_REPORTS + 1)
    predicted = np.empty((tests, steps + 1, MEMBERS))
    true = np.empty((tests, steps + 1))
    table = np.zeros((MEMBERS, PARAMETERS))
    for test in range(tests):
        cut = len(y) - steps - test
        now = x[cut - 1]
        fit_members(_relative(x, cut, 1.0), y[:cut], latest + now, table)
        for ahead in range(steps + 1):
            true[test, ahead] = y[cut - 1 + ahead]
            for member in range(MEMBERS):
                then = x[cut - 1 + ahead]
                predicted[test, ahead, member] = value_at(table[member], member, then - now)
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
def _put_errors(predicted: Floats, true: Floats, weights: Floats, errors: Floats) -> None:
    """The largest mean error of the blend up to every horizon; linear beyond the back-tests'."""
    steps, largest = true.shape[1] - 1, 0.0
    for ahead in range(steps + 1):
        largest = max(largest, _mean_error(predicted[:, ahead], true[:, ahead], weights))
        errors[ahead] = largest
    for ahead in range(steps + 1, len(errors)):
        errors[ahead] = errors[steps] * ahead / steps


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
def disagreements(tables: Floats, weights: Floats, x: Floats) -> Floats:
    """The mean distance of every job's members from its blend at its row of `x: (jobs, n)`."""
    found = np.empty_like(x)
    values = np.empty(MEMBERS)
    for job in range(len(x)):
        for i in range(x.shape[1]):
            found[job, i] = _disagreement(tables[job], weights[job], x[job, i], values)
    return found


@njit(cache=True)
def _disagreement(table: Floats, weights: Floats, x: float, values: Floats) -> float:
    """`values`: overwritten."""
    y, distance = 0.0, 0.0
    for member in range(MEMBERS):
        if weights[member] > 0.0:
            values[member] = value_at(table[member], member, x)
            y += weights[member] * values[member]
    for member in range(MEMBERS):
        if weights[member] > 0.0:
            distance += weights[member] * abs(values[member] - y)
    return distance


@njit(cache=True)
def errors_at(errors: Floats, x: Floats) -> Floats:
    """Errors of every job at its row of `x: (jobs, n)`, by linear interpolation; beyond the last
    horizon they are proportional to x.
    """
    found = np.empty_like(x)
    last = errors.shape[1] - 1
    for job in range(len(x)):
        for i in range(x.shape[1]):
            at = x[job, i]
            low = last if at >= last else int(at)
            found[job, i] = errors[job, low]
            if at > last:
                found[job, i] *= at / last
            elif at > low and np.isfinite(errors[job, low]):
                found[job, i] += (at - low) * (errors[job, low + 1] - errors[job, low])
    return found


@njit(cache=True)
def blended_limits(tables: Floats, weights: Floats) -> Floats:
    """y of every job in the limit, `(jobs,)`."""
    y = np.zeros(len(tables))
    for job in range(len(tables)):
        for member in range(MEMBERS):
            if weights[job, member] > 0.0:
                y[job] += weights[job, member] * limit(tables[job, member], member)
    return y
