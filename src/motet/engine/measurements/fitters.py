"""The fitters that compute estimates, for policies that declare `wants_estimates`.

They are in a module of their own because they load slowly and most policies need none.
"""

from __future__ import annotations

from motet.engine.measurements.job_measurements import Measurements
from motet.estimate.loss_curve.predictor import LossPredictor
from motet.estimate.speed_fit import NonNegativeFitter


def fitted_measurements() -> Measurements:
    """Losses by the blend of `motet.estimate.loss_curve`, speeds by Optimus' functions."""
    return Measurements(LossPredictor(), NonNegativeFitter())
