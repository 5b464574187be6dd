"""Softmax regression where all instances have the same probabilities: how MLR's training begins.

No compiled kernel is needed for it. The controller would load it for this alone, which takes longer
than a small training.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from motet.apps.inputs.centred import Centred, steepest_slope
from motet.domain.arrays import Array

_SMALL_SHARE = 0.01
_LEAST_DIVISOR = 1e-9  # The loss of a model can be 0 up to rounding.


def expand_equal_rows(logits: Array, labels: Array) -> tuple[float, Array, Array]:
    """The loss, and the rows' residuals and curvatures, where every row has the same logits.

    `logits`: `(classes,)`.
    """
    logits = logits - logits.max()
    exponentials = np.exp(logits)
    shares = exponentials / exponentials.sum()
    counts = np.bincount(labels, minlength=len(shares))
    loss = float(counts @ (np.log(exponentials.sum()) - logits))
    residuals = _residuals(shares, labels)
    return loss, residuals, np.broadcast_to(shares * (1 - shares), residuals.shape)


@dataclass(frozen=True)
class FrequencyModel:
    """A model that predicts the classes' frequencies.

    `loss`: its mean log-loss; `norm`: the largest entry of its gradient.
    """

    loss: float
    norm: float

    @classmethod
    def of(cls, features: Centred, labels: Array, classes: int) -> FrequencyModel:
        """Of the training data."""
        shares = np.bincount(labels, minlength=classes) / len(labels)
        present = shares[shares > 0]
        norm = steepest_slope(features, _residuals(shares, labels)) or 1.0
        return cls(float(-present @ np.log(present)), norm)

    def relative(self, norm: float, objective: float) -> float:
        """The relative gradient norm of a model with this objective.

        What is missing to an optimum grows with the square of the gradient. Below a hundredth of
        the first loss the norm therefore counts beside the root of the objective: else a part of
        it that the first gradient makes negligible is per cents of a small objective.
        """
        share = objective / (_SMALL_SHARE * self.loss)
        return norm / (self.norm * max(math.sqrt(min(1.0, share)), _LEAST_DIVISOR))


def _residuals(shares: Array, labels: Array) -> Array:
    residuals = np.tile(shares, (len(labels), 1))
    residuals[np.arange(len(labels)), labels] -= 1
    return residuals
