"""How often the margins of predictions contain the losses that came."""

from __future__ import annotations

import numpy as np

from motet.domain.arrays import Floats
from motet.estimate.loss_curve.predictor import COVERAGES, LossPredictor

SHORTEST = 20
"""The margins are calibrated for histories of this many reports and more."""


def covered(losses: Floats, ahead: int) -> Floats:
    """Part of the histories whose loss `ahead` reports later lies within the margin of every
    nominal coverage, `(coverages,)`."""
    iterations = np.arange(1.0, len(losses) + 1)
    sizes = np.arange(SHORTEST, len(losses) - ahead + 1)
    models = LossPredictor().fit_many([(iterations[:size], losses[:size]) for size in sizes])
    at = sizes + float(ahead)
    error = np.abs(models.predict(at) - losses[sizes + ahead - 1])
    return np.array([(error <= models.margin(at, each)).mean() for each in COVERAGES])
