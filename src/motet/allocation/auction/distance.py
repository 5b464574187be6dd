"""How much longer gangs take on stretches of the line, by their models."""

from __future__ import annotations

import numpy as np

from motet.allocation.auction.line import Line, Parts
from motet.domain.arrays import Floats
from motet.domain.model_profile import UNKNOWN_MODEL, ModelProfile
from motet.domain.snapshot import Snapshot
from motet.estimate.spread import rack_slowdown, spread_slowdown


class Distance:
    """Tables of `Line.slowdowns`, one for each skew. Racks count where there are several."""

    def __init__(self, snapshot: Snapshot, line: Line, most: int) -> None:
        self._snapshot, self._line, self._most = snapshot, line, most
        cluster = snapshot.cluster
        self._largest = int(cluster.gpus.max())
        self._largest_rack = int(np.bincount(cluster.rack, cluster.gpus).max())
        self._tables: dict[float, Floats] = {}

    def of_row(self, row: int) -> Floats:
        """Of the job's model."""
        skew = _profile(self._snapshot, row).skew
        if skew not in self._tables:
            self._tables[skew] = self._line.slowdowns(
                lambda parts: self._slowdown(skew, parts), self._most
            )
        return self._tables[skew]

    def _slowdown(self, skew: float, parts: Parts) -> float:
        slowdown = spread_slowdown(skew, parts, self._largest)
        if 0 in parts:
            slowdown += rack_slowdown(skew, _by_rack(parts), self._largest_rack)
        return slowdown


def _by_rack(parts: Parts) -> list[int]:
    """GPUs of each rack; they are divided by 0."""
    found = [0]
    for part in parts:
        if part:
            found[-1] += part
        else:
            found.append(0)
    return found


def _profile(snapshot: Snapshot, row: int) -> ModelProfile:
    model = int(snapshot.jobs.model[row])
    return snapshot.models[model] if 0 <= model < len(snapshot.models) else UNKNOWN_MODEL
