"""Where the values of a block are while no request uses them, if not in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

import numpy as np

from motet.domain.arrays import Array

AWAY: Array = np.empty(0)
"""Stands for values that are not in memory."""


class ValuePlace(Protocol):
    """Keeps the values of one block outside of this process's memory. Methods raise JobFailed."""

    def save(self, values: Array) -> None:
        """Keep these instead of the ones before."""
        ...

    def load(self) -> Array:
        """What was saved last, as an array of its own."""
        ...


MakePlace: TypeAlias = Callable[[], ValuePlace]
