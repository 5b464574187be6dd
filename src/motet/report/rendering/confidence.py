"""Confidence intervals of means over seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

CONFIDENCE = 0.95


def confidence_half_width(values: Sequence[float]) -> float:
    """Half of Student's 95 % confidence interval of the mean."""
    from scipy.special import stdtrit

    freedom = len(values) - 1
    deviation = float(np.std(values, ddof=1))
    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * deviation / math.sqrt(len(values))
