"""How far a predicted change of a loss stands out from the disagreement of the fitted curves."""

from __future__ import annotations

import numpy as np

from motet.domain.arrays import Floats


def confidence(changes: Floats, disagreements: Floats) -> Floats:
    """change / (change + disagreement).

    1 where all curves predict the same change, 1/2 where they lie as far apart as the loss is
    predicted to change, 0 where no change is predicted, or an infinite one.
    """
    found: Floats = np.zeros_like(disagreements)
    np.divide(
        changes, changes + disagreements, out=found, where=(changes > 0) & np.isfinite(changes)
    )
    return found
