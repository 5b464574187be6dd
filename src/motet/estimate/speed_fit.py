"""Speed functions fitted to a few measurements, with standard errors.

Peng et al., EuroSys 2018, section 3.2: non-negative least squares. The time of a step (of a
worker's step, if asynchronous) is linear in the parameters. Departure: each measurement is weighted
by its speed, so that relative errors count; otherwise the slowest sample would dominate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motet.domain.arrays import Floats
from motet.estimate.speed_function import PARAMETERS, SpeedMode, speed

_UNLIKELY = 1e-9
"""Parameters below this fraction of a step count as 0."""


@dataclass(frozen=True, eq=False)
class FittedSpeed:
    """`parameters`: `(6,)`, as `PARAMETERS`, with batch 1. `covariance`: of the first five,
    `(5, 5)`. `relative_error`: root mean square of the samples' relative errors.
    """

    mode: SpeedMode
    parameters: Floats
    covariance: Floats
    relative_error: float

    def steps_per_s(self, workers: float, servers: float) -> float:
        """The predicted speed."""
        return speed(int(self.mode), self.parameters.tolist(), workers, servers)

    def standard_error(self, workers: float, servers: float) -> float:
        """Relative standard error of the prediction; infinite where the samples do not determine
        it.
        """
        terms = _terms(self.mode, np.array([[workers, servers]], dtype=np.float64))[0]
        found = self.steps_per_s(workers, servers)
        of_step = found / workers if self.mode == SpeedMode.ASYNC else found
        return float(np.sqrt(max(terms @ self.covariance @ terms, 0.0)) * of_step)


def fit_speed(samples: Floats, mode: SpeedMode = SpeedMode.UNKNOWN) -> FittedSpeed:
    """`samples`: (workers, servers, steps per second), `(n, 3)`, n > 0, all speeds above 0.

    `mode`: UNKNOWN: the mode with the smaller error, synchronous if both are equal.
    """
    if mode != SpeedMode.UNKNOWN:
        return _fit(samples, mode)
    sync, asynchronous = (_fit(samples, each) for each in (SpeedMode.SYNC, SpeedMode.ASYNC))
    return asynchronous if asynchronous.relative_error < 0.99 * sync.relative_error else sync


class NonNegativeFitter:
    """A `SpeedFitter` of the engine. `fewest`: the minimum number of samples for a fit."""

    def __init__(self, fewest: int = 3) -> None:
        self._fewest = fewest

    def fit(self, samples: Floats) -> tuple[int, Floats]:
        """Mode and parameters, `(6,)`; mode 0 if there are too few samples."""
        if len(samples) < self._fewest:
            return int(SpeedMode.UNKNOWN), np.full(len(PARAMETERS), np.nan)
        fitted = fit_speed(samples)
        return int(fitted.mode), fitted.parameters


def _fit(samples: Floats, mode: SpeedMode) -> FittedSpeed:
    from scipy.optimize import nnls

    workers, speeds = samples[:, 0], samples[:, 2]
    step_s = (workers if mode == SpeedMode.ASYNC else 1.0) / speeds
    weighted = _terms(mode, samples[:, :2]) / step_s[:, None]
    scale = np.where(weighted.max(axis=0) > 0, weighted.max(axis=0), 1.0)
    found, _ = nnls(weighted / scale, np.ones(len(samples)))
    found = np.where(found < _UNLIKELY, 0.0, found)
    errors = 1.0 - (weighted / scale) @ found
    covariance = _covariance(weighted / scale, found > 0, errors) / np.outer(scale, scale)
    parameters = np.append(found / scale, 1.0)
    return FittedSpeed(mode, parameters, covariance, float(np.sqrt((errors**2).mean())))


def _terms(mode: SpeedMode, roles: Floats) -> Floats:
    """The factor of every parameter, `(n, 5)`."""
    workers, servers = roles[:, 0], roles[:, 1]
    one = np.ones(len(workers))
    exchanged = np.divide(workers, servers, out=1 - 1 / workers, where=servers > 0)
    if mode == SpeedMode.ASYNC:
        return np.column_stack([one, exchanged, workers, servers, np.zeros(len(workers))])
    return np.column_stack([1 / workers, one, exchanged, workers, servers])


def _covariance(terms: Floats, is_used: NDArray[np.bool_], errors: Floats) -> Floats:
    """Covariance of ordinary least squares over the parameters that are not 0."""
    found = np.zeros((terms.shape[1], terms.shape[1]))
    rows = np.flatnonzero(is_used)
    freedom = len(errors) - len(rows)
    if freedom <= 0:
        found[np.diag_indices_from(found)] = np.where(is_used, np.inf, 0.0)
        return found
    inverse = np.linalg.pinv(terms[:, rows].T @ terms[:, rows])
    found[np.ix_(rows, rows)] = inverse * float(errors @ errors) / freedom
    return found
