"""Measured loss as a function of a job's progress."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

import numpy as np

from motet.domain.arrays import Floats
from motet.domain.errors import UnknownName

_ENDING = ".csv"


@dataclass(frozen=True, eq=False)
class LossCurve:
    """`losses`: from the beginning of a job to its end, at least two.

    `steps`: the steps of the measurements, ascending; None: equidistant.
    """

    name: str
    losses: Floats
    steps: Floats | None = None

    def at(self, parts_done: Any) -> Floats:
        """The loss at these fractions of the job, 0 to 1, by linear interpolation."""
        return np.asarray(np.interp(parts_done, self._parts, self.losses), dtype=np.float64)

    def part_until(self, loss: float) -> float:
        """The fraction of the job after which the loss is first at most `loss`; NaN: never."""
        below = np.flatnonzero(self.losses <= loss)
        if not len(below):
            return float("nan")
        place = int(below[0])
        if place == 0:
            return 0.0
        before, after = self.losses[place - 1 : place + 1]
        since, until = self._since_first[place - 1 : place + 1]
        steps = since + (before - loss) / (before - after) * (until - since)
        return float(steps) / float(self._since_first[-1])

    @cached_property
    def lowest(self) -> float:
        """The lowest loss of the job."""
        return float(self.losses.min())

    @cached_property
    def _since_first(self) -> Floats:
        """Steps from the first loss to every loss, in any unit."""
        if self.steps is None:
            return np.arange(len(self.losses), dtype=np.float64)
        return np.asarray(self.steps - self.steps[0], dtype=np.float64)

    @cached_property
    def _parts(self) -> Floats:
        if self.steps is None:
            return np.linspace(0.0, 1.0, len(self.losses))
        return np.asarray(self._since_first / self._since_first[-1], dtype=np.float64)


def bundled_names() -> tuple[str, ...]:
    """Names of the curves that come with Motet."""
    names = (entry.name for entry in files(__package__).iterdir())
    return tuple(sorted(name.removesuffix(_ENDING) for name in names if name.endswith(_ENDING)))


@cache
def bundled_curve(name: str) -> LossCurve:
    """The curve of that name. Raises UnknownName."""
    if name not in bundled_names():
        raise UnknownName("loss curve", name, bundled_names())
    text = files(__package__).joinpath(name + _ENDING).read_text(encoding="utf-8")
    return LossCurve(name, np.array(text.split()[1:], dtype=np.float64))
