"""How often the margins of predictions contain the losses that came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from motet.domain.arrays import Floats
from motet.estimate.loss_curve.predictor import COVERAGES, LossPredictor
from support.loss_scores import is_convex
from support.pages import put_into, table

SHORTEST = 20
"""The margins are calibrated for histories of this many reports and more,"""
AHEAD = (1, 5, 10)
"""and these distances in reports."""
FARTHER = 20


def covered(losses: Floats, ahead: int) -> Floats:
    """Part of the histories whose loss `ahead` reports later lies within the margin of every
    nominal coverage, `(coverages,)`.
    """
    iterations = np.arange(1.0, len(losses) + 1)
    sizes = np.arange(SHORTEST, len(losses) - ahead + 1)
    models = LossPredictor().fit_many([(iterations[:size], losses[:size]) for size in sizes])
    at = sizes + float(ahead)
    error = np.abs(models.predict(at) - losses[sizes + ahead - 1])
    return np.array([(error <= models.margin(at, each)).mean() for each in COVERAGES])


@dataclass(frozen=True)
class Coverage:
    """Of a kind of curves. `parts: (curves, distances, coverages)`; `farther: (curves,)`: of 90 %
    `FARTHER` reports ahead, NaN for curves that are too short.
    """

    kind: str
    parts: Floats
    farther: Floats

    @property
    def means(self) -> Floats:
        """Over curves and distances, `(coverages,)`."""
        return self.parts.mean(axis=(0, 1))

    @property
    def least(self) -> float:
        """Of 90 %: of the worst curve, over distances."""
        return float(self.parts.mean(axis=1)[:, COVERAGES.index(0.9)].min())

    @property
    def row(self) -> list[str]:
        """Of the page's table."""
        parts = [*self.means, self.least, float(np.nanmean(self.farther))]
        return [self.kind, str(len(self.parts)), *(f"{100 * part:.0f} %" for part in parts)]


HEAD = [
    "curves",
    "number",
    *(f"{100 * nominal:.0f} %" for nominal in COVERAGES),
    "90 %, worst curve",
    f"90 %, {FARTHER} ahead",
]


def coverages(groups: Mapping[str, Mapping[str, Floats]]) -> list[Coverage]:
    """Of the convex and of the other curves of every group."""
    found = []
    for group, curves in groups.items():
        for name, wanted in (("convex, EM-like, boosting", True), ("not convex", False)):
            chosen = [losses for each, losses in curves.items() if is_convex(each) == wanted]
            if chosen:
                found.append(_coverage(f"{group}: {name}", chosen))
    return found


def _coverage(kind: str, curves: list[Floats]) -> Coverage:
    parts = np.array([[covered(losses, ahead) for ahead in AHEAD] for losses in curves])
    farther = [
        covered(losses, FARTHER)[COVERAGES.index(0.9)]
        if len(losses) >= SHORTEST + FARTHER
        else np.nan
        for losses in curves
    ]
    return Coverage(kind, parts, np.array(farther))


def write(page: Path, script: str, found: list[Coverage]) -> None:
    """The table into the page."""
    distances = f"{', '.join(map(str, AHEAD[:-1]))} and {AHEAD[-1]}"
    section = f"""The part of the losses {distances} reports ahead that were within their margin, by
nominal coverage: from every history of {SHORTEST} reports or more, on average over the curves.

{table(HEAD, [each.row for each in found])}"""
    put_into(page, section, script, "## Accuracy")
    print(f"written: {page}")
