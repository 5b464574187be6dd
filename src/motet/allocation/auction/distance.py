"""How much longer gangs take on stretches of the line, by their models."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motet.allocation.auction.line import Line
from motet.domain.model_profile import UNKNOWN_MODEL, ModelProfile
from motet.domain.snapshot import Snapshot
from motet.estimate.spread import spread_slowdown

Floats = NDArray[np.float64]


class Distance:
    """Tables of `Line.slowdowns`, one for each skew."""

    def __init__(self, snapshot: Snapshot, line: Line, most: int) -> None:
        self._snapshot, self._line, self._most = snapshot, line, most
        self._largest = int(snapshot.cluster.gpus.max())
        self._tables: dict[float, Floats] = {}

    def of_row(self, row: int) -> Floats:
        """Of the job's model."""
        skew = _profile(self._snapshot, row).skew
        if skew not in self._tables:
            self._tables[skew] = self._line.slowdowns(
                lambda parts: spread_slowdown(skew, parts, self._largest), self._most
            )
        return self._tables[skew]


def _profile(snapshot: Snapshot, row: int) -> ModelProfile:
    model = int(snapshot.jobs.model[row])
    return snapshot.models[model] if 0 <= model < len(snapshot.models) else UNKNOWN_MODEL
