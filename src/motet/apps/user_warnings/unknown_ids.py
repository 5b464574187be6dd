"""The warning of predictions for users and items without training data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motet.apps.user_warnings.call_site import CallSite


def warn_of_unknown_ids(is_unknown: NDArray[np.bool_]) -> None:
    """Warn with a UserWarning that counts the predictions `(n,)` that know no user or item."""
    count = int(np.count_nonzero(is_unknown))
    if not count:
        return
    verb = "is" if count == 1 else "are"
    CallSite.of_caller().warn(
        f"{count:,} of {len(is_unknown):,} predictions {verb} the mean of the training ratings: "
        "their user or item is not in the training data (00097 and 97 are different ids)",
        UserWarning,
    )
