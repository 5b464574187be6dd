"""The simplest loss curve fitter: Optimus' hyperbola through three points of a history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from motet.domain.arrays import Floats

FEWEST = 3


@dataclass(frozen=True)
class Hyperbolas:
    """l(k) = 1 / (b0 k + b1) + b2. `b: (jobs, 3)`; `apart: (jobs,)`, what `disagreement` is."""

    b: Floats
    apart: Floats

    def __len__(self) -> int:
        return len(self.b)

    def predict(self, iterations: Any, /) -> Floats:
        b0, b1, b2 = self.b.T
        return np.asarray(1 / (b0 * iterations + b1) + b2)

    def disagreement(self, iterations: Any, /) -> Floats:
        return np.broadcast_to(self.apart, np.shape(iterations))

    def iterations_to(self, losses: Any, /) -> Floats:
        b0, b1, b2 = self.b.T
        with np.errstate(invalid="ignore", divide="ignore"):
            found = (1 / (losses - b2) - b1) / b0
        return np.where(losses > b2, found, np.inf)


class ThreePointFitter:
    """A `CurveFitter`, exact for such losses. Counts its fits."""

    apart = 0.0

    def __init__(self) -> None:
        self.fits = 0

    def fit_many(self, histories: Sequence[tuple[Floats, Floats]], /) -> Hyperbolas:
        self.fits += len(histories)
        b = np.array([_hyperbola(*history) for history in histories])
        return Hyperbolas(b, np.full(len(b), self.apart))


class DisagreeingFitter(ThreePointFitter):
    """The same curves, this far apart from others."""

    def __init__(self, apart: float) -> None:
        super().__init__()
        self.apart = apart


def _hyperbola(steps: Floats, losses: Floats) -> Floats:
    """By bisection on the floor b2: reciprocals must lie on a line."""
    if len(steps) < FEWEST:
        return np.array([0.0, np.inf, losses[-1]])
    at = [0, len(steps) // 2, len(steps) - 1]
    k, loss = steps[at], losses[at]
    low, high = loss[2] - 100 * (loss[0] - loss[2]), loss[2]
    for _ in range(200):
        floor = (low + high) / 2
        y = 1 / (loss - floor)
        is_convex = (y[1] - y[0]) / (k[1] - k[0]) < (y[2] - y[1]) / (k[2] - k[1])
        low, high = (low, floor) if is_convex else (floor, high)
    slope = (y[2] - y[0]) / (k[2] - k[0])
    return np.array([slope, y[0] - slope * k[0], floor])
