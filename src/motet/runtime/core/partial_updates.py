"""Updates of several parts of a mini-batch, summed, and values picked for a part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from motet.domain.arrays import Array, Indices
from motet.runtime.core.application import Update
from motet.runtime.core.changes import all_changes
from motet.runtime.core.sums import added


@dataclass(frozen=True, eq=False)
class PartialUpdate:
    """An update and the sorted keys of its rows (None: all keys)."""

    keys: Indices | None
    update: Update


class RunningSum:
    """Adds updates whose keys are among `keys` (sorted, None: all)."""

    def __init__(self, keys: Indices | None, key_count: int) -> None:
        """`key_count`: of the whole model."""
        self.keys = keys
        self._length = key_count if keys is None else len(keys)
        self._total: Array | None = None
        self._changes: list[Array] = []
        self._statistics: tuple[float, ...] = ()

    def add(self, part: PartialUpdate) -> None:
        """Add one update."""
        delta = part.update.delta
        self._statistics = added(self._statistics, part.update.statistics)
        if part.update.is_changes:
            self._changes.append(delta)
            return
        if self._total is None:
            self._total = np.zeros((self._length, *delta.shape[1:]), delta.dtype)
        if part.keys is None:
            self._total += delta
        else:
            places = part.keys if self.keys is None else np.searchsorted(self.keys, part.keys)
            self._total[places] += delta

    @property
    def result(self) -> PartialUpdate | None:
        """The sum so far; None before the first update."""
        if self._changes:
            changes = all_changes(self._changes)
            if len(self._changes) > 1:
                changes = changes[:, np.argsort(changes[0], kind="stable")]
            return PartialUpdate(self.keys, Update(changes, self._statistics, is_changes=True))
        if self._total is None:
            return None
        return PartialUpdate(self.keys, Update(self._total, self._statistics))


def rows_at(values: Array, keys: Indices | None, wanted: Indices | None) -> Array | None:
    """The values of the keys `wanted` out of those of `keys`; None when some are missing.

    All keys are sorted; None stands for all keys of the model.
    """
    if keys is None:
        return values if wanted is None else values[wanted]
    if wanted is None:
        return None
    if not len(wanted):
        return values[:0]
    places = np.searchsorted(keys, wanted)
    if not len(keys) or places[-1] >= len(keys) or not np.array_equal(keys[places], wanted):
        return None
    return values[places]


def all_keys(parts: Sequence[Indices | None]) -> Indices | None:
    """The sorted union of several parts' keys; None as soon as one of them is None."""
    if len(parts) == 1:
        return parts[0]
    some = [keys for keys in parts if keys is not None]
    if len(some) < len(parts):
        return None
    return np.unique(np.concatenate(some)) if some else np.empty(0, np.int64)


def together(parts: Sequence[PartialUpdate], key_count: int) -> PartialUpdate | None:
    """The sum of updates with any keys, at the union of their keys; None for no updates."""
    if len(parts) <= 1:
        return parts[0] if parts else None
    total = RunningSum(all_keys([part.keys for part in parts]), key_count)
    for part in parts:
        total.add(part)
    return total.result
