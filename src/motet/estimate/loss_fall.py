"""Normalised loss reductions, comparable between jobs: SLAQ's objective.

Zhang et al., SoCC 2017, sections 4.1 and 4.2: the reduction of a loss is divided by the job's
largest change from one step to the next.

If the fitted curves are flat, or none exist yet:

- with a target (the user's hint, section 4.4) the distance to it shrinks by a constant factor per
  step, the average factor so far; also if the curves never reach the target;
- without a target, the job is assumed to converge as 1/(1 + k), SLAQ's slower class, so that a new
  job is tried and the priority of a stagnating job decreases.

Optionally these defaults replace every curve in the measure in which its predictions are uncertain.
"""

from __future__ import annotations

import numpy as np

from motet.domain.arrays import Bools, Floats
from motet.domain.estimates import Estimates
from motet.estimate.loss_curve.confidence import confidence


def normalised_falls(estimates: Estimates, ahead: Floats, is_weighed: bool = False) -> Floats:
    """Loss reductions within these numbers of steps from now, `(jobs, n)`; they ascend by row.

    In units of each job's largest change of a step so far; never below 0, never less for more
    steps, and constant after the last of the planned steps. `is_weighed`: of a curve and of the
    default without it, by the confidence in the curve at the last of the steps.
    """
    done = np.nan_to_num(estimates.steps_done)[:, None]
    planned = np.nan_to_num(estimates.planned_steps, nan=np.inf)[:, None]
    steps = np.minimum(ahead, np.maximum(planned - done, 0.0))
    falls, has_target = _forecast(estimates, steps), _has_target(estimates)
    by_default = ~(falls[:, -1] > 0) | (has_target & np.isinf(estimates.steps_left))
    falls[by_default] = _without_curve(estimates, by_default, has_target, steps)
    if is_weighed:
        by_curve = ~by_default
        weight = _confidence(estimates, falls, steps)[by_curve, None]
        default = _without_curve(estimates, by_curve, has_target, steps)
        falls[by_curve] = weight * falls[by_curve] + (1 - weight) * default
    return falls


def _confidence(estimates: Estimates, falls: Floats, steps: Floats) -> Floats:
    """In the curves at the last of the steps, `(jobs,)`."""
    found = np.zeros(len(falls))
    if estimates.forecasts is not None:
        known = ~np.isnan(estimates.loss)
        apart = estimates.forecasts.disagreement(estimates.steps_done[known] + steps[known, -1])
        found[known] = confidence(falls[known, -1] * estimates.largest_change[known], apart)
    return found


def _forecast(estimates: Estimates, steps: Floats) -> Floats:
    """Predictions of the curves; NaN where there are none, or before the first change."""
    falls = np.full(steps.shape, np.nan)
    if estimates.forecasts is None:
        return falls
    known = ~np.isnan(estimates.loss)
    at = estimates.steps_done[known, None] + np.column_stack([np.zeros(known.sum()), steps[known]])
    losses = estimates.forecasts.predict(at)
    lowest = np.minimum.accumulate(losses, axis=1)
    largest = estimates.largest_change[known]
    unit = np.where(largest > 0, largest, np.nan)[:, None]
    falls[known] = (losses[:, :1] - lowest[:, 1:]) / unit
    return falls


def _has_target(estimates: Estimates) -> Bools:
    """Jobs whose loss has decreased, but not yet to the target."""
    fell = (estimates.loss < estimates.first_loss) & (estimates.largest_change > 0)
    found: Bools = fell & (estimates.target_loss < estimates.loss) & (estimates.steps_done > 0)
    return found


def _without_curve(estimates: Estimates, rows: Bools, has_target: Bools, steps: Floats) -> Floats:
    """The defaults of these rows."""
    falls = _like_sublinear(np.nan_to_num(estimates.steps_done)[rows, None], steps[rows])
    both = rows & has_target
    falls[has_target[rows]] = _towards_target(estimates, both, steps[both])
    return falls


def _towards_target(estimates: Estimates, rows: Bools, steps: Floats) -> Floats:
    target, loss = estimates.target_loss[rows], estimates.loss[rows]
    shrinks = np.log((estimates.first_loss[rows] - target) / (loss - target))
    per_step = shrinks / estimates.steps_done[rows]
    left = (loss - target) / estimates.largest_change[rows]
    falls: Floats = left[:, None] * -np.expm1(-per_step[:, None] * steps)
    return falls


def _like_sublinear(done: Floats, steps: Floats) -> Floats:
    """Reductions of 1/(1 + k) in units of its first one, 1/2."""
    falls: Floats = 2 * (1 / (1 + done) - 1 / (1 + done + steps))
    return falls
