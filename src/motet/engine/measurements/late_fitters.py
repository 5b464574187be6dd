"""Measurements whose fitters are loaded with the first fit.

For a driver whose policy may change: most policies need no estimates, and the fitters load slowly.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from motet.domain.arrays import Floats
from motet.domain.estimates import LossForecasts
from motet.engine.measurements.job_measurements import Measurements
from motet.engine.ports import CurveFitter, SpeedFitter


def late_fitted_measurements() -> Measurements:
    """The fitters of `fitted_measurements`."""
    return Measurements(_LateCurves(), _LateSpeeds())


class _LateCurves:
    """See CurveFitter."""

    def fit_many(self, histories: Sequence[tuple[Floats, Floats]], /) -> LossForecasts:
        return self._fitter.fit_many(histories)

    @cached_property
    def _fitter(self) -> CurveFitter:
        from motet.estimate.loss_curve.predictor import LossPredictor

        return LossPredictor()


class _LateSpeeds:
    """See SpeedFitter."""

    def fit(self, samples: Floats) -> tuple[int, Floats]:
        return self._fitter.fit(samples)

    @cached_property
    def _fitter(self) -> SpeedFitter:
        from motet.estimate.speed_fit import NonNegativeFitter

        return NonNegativeFitter()
