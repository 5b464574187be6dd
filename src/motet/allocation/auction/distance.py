"""Slowdowns of gangs on stretches of the line, by model."""

from __future__ import annotations

import numpy as np

from motet.allocation.auction.line import Line, Parts
from motet.domain.arrays import Floats
from motet.domain.model_profile import UNKNOWN_MODEL, ModelProfile
from motet.domain.snapshot import Snapshot
from motet.estimate.spread import rack_slowdown, spread_slowdown


class Distance:
    """Tables of `Line.slowdowns`, one per skew. Racks count if the cluster has several."""

    def __init__(self, snapshot: Snapshot, line: Line, most: int) -> None:
        self._snapshot, self._line, self._most = snapshot, line, most
        cluster = snapshot.cluster
        self._largest = int(cluster.gpus.max())
        self._largest_rack = int(np.bincount(cluster.rack, cluster.gpus).max())
        self._by_model: dict[int, Floats] = {}
        self._by_skew: dict[float, Floats] = {}

    def of_row(self, row: int) -> Floats:
        """The table of the job's model."""
        model = int(self._snapshot.jobs.model[row])
        if model not in self._by_model:
            self._by_model[model] = self._table(_profile(self._snapshot, model).skew)
        return self._by_model[model]

    def _table(self, skew: float) -> Floats:
        """The table of a skew; models of equal skew share one object."""
        if skew not in self._by_skew:
            self._by_skew[skew] = self._line.slowdowns(
                lambda parts: self._slowdown(skew, parts), self._most
            )
        return self._by_skew[skew]

    def _slowdown(self, skew: float, parts: Parts) -> float:
        slowdown = spread_slowdown(skew, parts, self._largest)
        if 0 in parts:
            slowdown += rack_slowdown(skew, _by_rack(parts), self._largest_rack)
        return slowdown


def _by_rack(parts: Parts) -> list[int]:
    """GPUs of each rack; a 0 in `parts` separates racks."""
    found = [0]
    for part in parts:
        if part:
            found[-1] += part
        else:
            found.append(0)
    return found


def _profile(snapshot: Snapshot, model: int) -> ModelProfile:
    return snapshot.models[model] if 0 <= model < len(snapshot.models) else UNKNOWN_MODEL
