"""Which fitters make estimates of measurements, for policies that want estimates.

A module of its own: they take a while to load, and most policies need none.
"""

from __future__ import annotations

from motet.engine.measurements import Measurements
from motet.estimate.loss_curve.predictor import LossPredictor
from motet.estimate.speed_fit import NonNegativeFitter


def fitted_measurements() -> Measurements:
    """Losses by the blend of `motet.estimate.loss_curve`, speeds by Optimus' functions."""
    return Measurements(LossPredictor(), NonNegativeFitter())
