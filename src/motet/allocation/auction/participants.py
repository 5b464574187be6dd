"""Bidders of an auction: the experiments with the largest rho."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from motet.domain.arrays import Ints
from motet.domain.errors import BadInput

DEFAULT_FAIRNESS = 0.8
_DIGITS = 9


def participants(rho: ArrayLike, fairness: float = DEFAULT_FAIRNESS) -> Ints:
    """Rows of the 1 - f of all experiments with the largest rho, worst first, but at least one.

    `rho: (experiments,)`: infinite for experiments without GPUs; ties keep row order. `fairness`: f
    (Themis, section 4.3), 0 to 1: larger values are fairer, but leave fewer bidders among which the
    auction can find good placements. Raises BadInput.
    """
    if not 0 <= fairness <= 1:
        raise BadInput(f"fairness={fairness}: the filter's f is 0 (all bid) to 1 (only the worst)")
    worst_first = np.argsort(-np.asarray(rho, dtype=np.float64), kind="stable")
    # Rounding avoids ceil(3.0000000000000004) for 1 - 0.7 of 10.
    count = math.ceil(round((1 - fairness) * len(worst_first), _DIGITS))
    return worst_first[: max(count, 1)]
