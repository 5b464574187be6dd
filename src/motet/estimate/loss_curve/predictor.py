"""Prediction of the losses of many jobs from their reports.

    model = LossPredictor().fit(iterations, losses)
    model.predict(iterations[-1] + 10)

A model is a blend of SLAQ's and Optimus' curves and some simpler ones, see `members` and `blend`.
Lower losses are better; losses may be negative. Models are equivariant under changes of units:
losses s l + t, s > 0, and iterations r k, r > 0, give predictions that are scaled and shifted alike
(to rounding).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from motet.domain.arrays import Floats
from motet.domain.errors import BadInput
from motet.estimate.loss_curve.blend import (
    blended_limits,
    blends_at,
    disagreements,
    errors_at,
    fit_blends,
)
from motet.estimate.loss_curve.confidence import confidence
from motet.estimate.loss_curve.crossing import reach, settle
from motet.estimate.loss_curve.history import joined_histories, largest_changes
from motet.estimate.loss_curve.members import Member

LossHistory = tuple[ArrayLike, ArrayLike]

COVERAGES = (0.5, 0.8, 0.9, 0.95)
FACTORS = (0.4, 0.9, 1.4, 2.0)
"""Quantiles of error / scale, rounded up: one to ten reports ahead, from histories of 20 and more,
with the same weight for each of the twelve curves that come with Motet."""


@dataclass(frozen=True)
class LossPredictor:
    """Settings of a fit. `horizon`: distance in reports at which back-tests weight the curves."""

    horizon: int = 10

    def __post_init__(self) -> None:
        if self.horizon < 1:
            raise BadInput(f"horizon={self.horizon}: must be at least 1 report")

    def fit(self, iterations: ArrayLike, losses: ArrayLike) -> LossModel:
        """The model of one job from the losses `(n,)` that it reported after these iterations.

        Iterations are 0 or more and ascend, at any distances. One to three reports, or constant
        losses, give a model that stays at the latest loss. Raises BadInput for histories that are
        empty or contain values that are not finite.
        """
        return LossModel(self.fit_many([(iterations, losses)]))

    def fit_many(self, histories: Sequence[LossHistory]) -> LossModels:
        """The models of all jobs from (iterations, losses) of each; see `fit`."""
        whole = joined_histories(histories)
        tables, weights, errors, scalars = fit_blends(*whole, self.horizon)
        latest, largest = whole.iterations[whole.ends - 1], largest_changes(whole)
        return LossModels(latest, largest, tables, weights, errors, *scalars.T)


@dataclass(frozen=True, eq=False)
class LossModels:
    """Models of many jobs; every array has a row per job.

    `latest`: the last reported iteration. `largest_change`: between two reports, so far. `tables`,
    `weights`: parameters and weights of the members, in the job's own units; `errors`: the largest
    mean error in the back-tests up to 0, 1, ... reports ahead, in the same units, infinite with
    fewer than four reports. `spacing`: usual distance between reports, in iterations. `loss`: the
    last one. `unit`: the range of the losses, negative where they rise. `error`: mean error of the
    latest back-tests, in losses, infinite with fewer than four reports; `error_horizon`: their
    horizon in iterations.
    """

    latest: Floats
    largest_change: Floats
    tables: Floats
    weights: Floats
    errors: Floats
    spacing: Floats
    loss: Floats
    unit: Floats
    error: Floats
    error_horizon: Floats

    def __len__(self) -> int:
        return len(self.latest)

    @property
    def chosen(self) -> list[Member]:
        """The member with the largest weight."""
        return [Member(member) for member in self.weights.argmax(axis=1)]

    @property
    def limit(self) -> Floats:
        """The predicted limits of the losses."""
        limits: Floats = self.loss + self.unit * blended_limits(self.tables, self.weights)
        return limits

    def predict(self, iterations: ArrayLike) -> Floats:
        """Losses after these iterations, `(jobs,)` or `(jobs, n)`, none before `latest`."""
        x = self._reports_ahead(iterations)
        y = blends_at(self.tables, self.weights, x)
        losses: Floats = self.loss[:, None] + self.unit[:, None] * y
        return losses.reshape(np.shape(iterations))

    def margin(self, iterations: ArrayLike, coverage: float = 0.9) -> Floats:
        """The distance from predicted losses within which actual ones lie, in this part of cases.

        `coverage`: 0.5 to 0.95. Shaped as in `predict`; infinite with fewer than four reports.
        """
        if not COVERAGES[0] <= coverage <= COVERAGES[-1]:
            raise BadInput(f"coverage={coverage}: must be within 0.5 and 0.95")
        x = self._reports_ahead(iterations)
        scales = disagreements(self.tables, self.weights, x) + errors_at(self.errors, x)
        size = np.interp(coverage, COVERAGES, FACTORS) * np.abs(self.unit[:, None])
        found = np.full_like(scales, np.inf)
        np.multiply(size, scales, out=found, where=np.isfinite(scales))
        return found.reshape(np.shape(iterations))

    def disagreement(self, iterations: ArrayLike) -> Floats:
        """The mean distance of the members from predicted losses, shaped as in `predict`.

        The error of the curve, without the noise of single reports.
        """
        y = disagreements(self.tables, self.weights, self._reports_ahead(iterations))
        found: Floats = np.abs(self.unit[:, None]) * y
        return found.reshape(np.shape(iterations))

    def confidence(self, iterations: ArrayLike) -> Floats:
        """Of the predicted changes of the losses: see `motet.estimate.loss_curve.confidence`.

        Shaped as in `predict`.
        """
        at = np.asarray(iterations, dtype=np.float64)
        now = self.predict(self.latest).reshape((len(self),) + (1,) * (at.ndim - 1))
        return confidence(np.abs(self.predict(at) - now), self.disagreement(at))

    def _reports_ahead(self, iterations: ArrayLike) -> Floats:
        """`(jobs, n)`. Raises BadInput."""
        at = np.asarray(iterations, dtype=np.float64)
        if at.ndim not in (1, 2) or len(at) != len(self):
            raise BadInput(
                f"iterations of shape {at.shape}; there must be a row for each of {len(self)} jobs"
            )
        ahead = (at if at.ndim == 2 else at[:, None]) - self.latest[:, None]
        if not (ahead >= 0).all():
            raise BadInput("iterations: none may lie before the latest report")
        found: Floats = ahead / self.spacing[:, None]
        return found

    def normalised_falls(self, iterations: ArrayLike) -> Floats:
        """Decrease of the losses from `latest` until these iterations, shaped as in `predict`.

        In units of the largest change so far (SLAQ, section 4.1), which makes jobs comparable;
        negative where losses rise, 0 before the first change.
        """
        losses = self.predict(iterations)
        shape = (len(self),) + (1,) * (losses.ndim - 1)
        falls = self.predict(self.latest).reshape(shape) - losses
        largest = np.broadcast_to(self.largest_change.reshape(shape), falls.shape)
        normalised: Floats = np.divide(falls, largest, out=np.zeros_like(falls), where=largest > 0)
        return normalised

    def iterations_to(self, losses: ArrayLike) -> Floats:
        """The first iterations after which the predicted losses are at most these, `(jobs,)`.

        `latest` where they are already; infinite where they never will be.
        """
        wanted = np.broadcast_to(np.asarray(losses, dtype=np.float64), self.latest.shape)
        is_there = self.predict(self.latest) <= wanted
        can_fall = self.unit > 0
        y = np.divide(wanted - self.loss, self.unit, out=np.zeros(len(self)), where=can_fall)
        x = np.where(can_fall, reach(self.tables, self.weights, y), np.inf)
        return self._iterations(np.where(is_there, 0.0, x))

    def iterations_to_converge(self, changes: ArrayLike) -> Floats:
        """The first iterations from which one more changes the predicted losses by at most these.

        Optimus' convergence (section 3.1), `(jobs,)`; infinite where that does not happen.
        """
        wanted = np.broadcast_to(np.asarray(changes, dtype=np.float64), self.latest.shape)
        size = np.abs(self.unit)
        y = np.divide(wanted, size, out=np.full(len(self), np.inf), where=size > 0)
        return self._iterations(settle(self.tables, self.weights, 1 / self.spacing, y))

    def _iterations(self, x: Floats) -> Floats:
        """The first whole iterations at or after x."""
        iterations: Floats = np.ceil(self.latest + x * self.spacing - ROUNDING)
        return np.maximum(iterations, self.latest)


ROUNDING = 1e-6
"""Tolerance in iterations up to which a value counts as the whole iteration before it."""


@dataclass(frozen=True)
class LossModel:
    """The model of one job; `models` has one row."""

    models: LossModels

    def predict(self, iterations: ArrayLike) -> Floats:
        """Losses after these iterations, of any shape; none may lie before the latest report."""
        at = np.asarray(iterations, dtype=np.float64)
        return self.models.predict(at.reshape(1, -1)).reshape(at.shape)

    def margin(self, iterations: ArrayLike, coverage: float = 0.9) -> Floats:
        """Actual losses are this close to the predicted ones, in this part of cases."""
        at = np.asarray(iterations, dtype=np.float64)
        return self.models.margin(at.reshape(1, -1), coverage).reshape(at.shape)

    def confidence(self, iterations: ArrayLike) -> Floats:
        """The predicted changes against the disagreement of the fitted curves, 0 to 1."""
        at = np.asarray(iterations, dtype=np.float64)
        return self.models.confidence(at.reshape(1, -1)).reshape(at.shape)

    def iterations_to(self, loss: float) -> float:
        """The first iteration after which the predicted loss is at most this; or infinity."""
        return float(self.models.iterations_to(loss)[0])

    def iterations_to_converge(self, change: float) -> float:
        """The first iteration from which one more changes the loss by at most this; or infinity."""
        return float(self.models.iterations_to_converge(change)[0])

    @property
    def limit(self) -> float:
        """The predicted limit of the loss."""
        return float(self.models.limit[0])

    @property
    def error(self) -> float:
        """Mean error of the latest back-tests; infinite with fewer than four reports."""
        return float(self.models.error[0])

    @property
    def error_horizon(self) -> float:
        """The horizon of the back-tests in iterations."""
        return float(self.models.error_horizon[0])

    @property
    def chosen(self) -> Member:
        """The member with the largest weight."""
        return self.models.chosen[0]

    @property
    def shares(self) -> dict[Member, float]:
        """The weight of each member; they sum to 1."""
        return dict(zip(Member, self.models.weights[0].tolist(), strict=True))
