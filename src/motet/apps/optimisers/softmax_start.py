"""Softmax regression where all instances have the same probabilities: how MLR's training begins.

No compiled kernel is needed for it. The controller would load it for this alone, which takes longer
than a small training.
"""

from __future__ import annotations

import numpy as np

from motet.apps.inputs.centred import Centred, steepest_slope
from motet.domain.arrays import Array


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


def norm_at_frequencies(features: Centred, labels: Array, classes: int) -> float:
    """The gradient's largest entry for a model that predicts the classes' frequencies."""
    shares = np.bincount(labels, minlength=classes) / len(labels)
    return steepest_slope(features, _residuals(shares, labels)) or 1.0


def _residuals(shares: Array, labels: Array) -> Array:
    residuals = np.tile(shares, (len(labels), 1))
    residuals[np.arange(len(labels)), labels] -= 1
    return residuals
