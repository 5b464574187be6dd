"""How far predicted losses are from what came, over all histories of a curve."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from motet.domain.arrays import Floats
from motet.estimate.loss_curve.predictor import LossPredictor

AHEAD = 10
SHORTEST = 10
NOT_CONVEX = ("charlm", "mf_", "mlp", "digits_nmf", "digits_network", "network_")


def shared_curves() -> dict[str, Floats]:
    """Losses by name from `curves/*.csv` of `MOTET_SHARED` or `../shared`; empty without them."""
    beside = Path(__file__).resolve().parents[3] / "shared"
    home = Path(os.environ.get("MOTET_SHARED", beside)) / "curves"
    return {
        path.stem: np.loadtxt(path, delimiter=",", skiprows=1)[:, 1]
        for path in sorted(home.glob("*.csv"))
    }


@dataclass(frozen=True)
class Score:
    """Errors `(histories,)` of predictions `AHEAD` iterations ahead.

    `truth`: the losses that came; `change`: how far they were from the history's last; `span`: the
    curve's range, for every history.
    """

    error: Floats
    truth: Floats
    change: Floats
    span: Floats

    @classmethod
    def pooled(cls, scores: Iterable[Self]) -> Self:
        """All histories of all curves."""
        columns = zip(*((s.error, s.truth, s.change, s.span) for s in scores), strict=True)
        return cls(*(np.concatenate(column) for column in columns))

    @property
    def no_change(self) -> Score:
        """The same of the baseline that takes every loss to stay."""
        return Score(self.change, self.truth, self.change, self.span)

    @property
    def median(self) -> float:
        """Of errors per loss."""
        return float(np.median(self.error / np.abs(self.truth)))

    @property
    def p95(self) -> float:
        """95th percentile of errors per loss."""
        return float(np.quantile(self.error / np.abs(self.truth), 0.95))

    @property
    def within_range(self) -> float:
        """Share of errors of at most 5 % of the curve's range."""
        return float((self.error <= 0.05 * self.span).mean())

    @property
    def per_change(self) -> float:
        """Median of errors per true change, where there is one."""
        changes = self.change > 0
        return float(np.median(self.error[changes] / self.change[changes]))


@dataclass(frozen=True)
class CurveScore:
    """`favourite`: the member with the largest share most often."""

    name: str
    score: Score
    favourite: str

    @property
    def is_convex(self) -> bool:
        """See `is_convex`."""
        return is_convex(self.name)


def is_convex(name: str) -> bool:
    """Whether it is the curve of a convex, an EM-like or a boosting algorithm."""
    return not name.startswith(NOT_CONVEX)


def scored(name: str, losses: Floats, predictor: LossPredictor | None = None) -> CurveScore:
    """Predict `AHEAD` iterations ahead from every history of at least `SHORTEST`."""
    iterations = np.arange(1.0, len(losses) + 1)
    sizes = np.arange(SHORTEST, len(losses) - AHEAD + 1)
    models = (predictor or LossPredictor()).fit_many(
        [(iterations[:size], losses[:size]) for size in sizes]
    )
    truth, last = losses[sizes + AHEAD - 1], losses[sizes - 1]
    error = np.abs(models.predict(sizes + float(AHEAD)) - truth)
    span = np.full(len(sizes), np.ptp(losses))
    favourite = Counter(member.label for member in models.chosen).most_common(1)[0][0]
    return CurveScore(name, Score(error, truth, np.abs(truth - last), span), favourite)
