"""Losses of models and the division of GPUs by loss over time: `quality.csv`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from motet.domain.arrays import Floats, Ints
from motet.domain.units import exact_seconds, microseconds

LOSS_GROUPS = ("highest_quarter", "next_quarter", "lowest_half")
"""Groups of jobs by normalised loss, as in SLAQ's figure 3."""

QUALITY_COLUMNS = (
    "time",
    "jobs",
    "average_normalised_loss",
    *(f"{group}_gpus" for group in LOSS_GROUPS),
)
"""Of `quality.csv`."""


@dataclass(frozen=True, eq=False)
class QualityOverTime:
    """A row per moment, in order, `(moments,)`. `jobs`: number of active jobs with a loss.

    `average_loss`: mean of their normalised losses (1 at the first step, 0 at the lowest loss); NaN
    without such jobs. `gpus`: `(groups, moments)`, GPUs that the jobs of each group hold.
    """

    times_us: Ints
    jobs: Ints
    average_loss: Floats
    gpus: Ints

    @property
    def shares(self) -> Floats:
        """`(groups, moments)`: each group's share of these GPUs; NaN where no GPU is held."""
        total = self.gpus.sum(axis=0)
        shares = np.full(self.gpus.shape, np.nan)
        np.divide(self.gpus, total, out=shares, where=total > 0)
        return shares

    def rows(self) -> Iterator[tuple[str | int, ...]]:
        """The rows of `quality.csv`: seconds as exact text; an unknown loss is empty."""
        columns = (self.times_us, self.jobs, self.average_loss, *self.gpus)
        for time_us, jobs, loss, *gpus in zip(*(each.tolist() for each in columns), strict=True):
            yield exact_seconds(time_us), jobs, "" if math.isnan(loss) else repr(loss), *gpus

    @classmethod
    def of_columns(cls, columns: Sequence[Sequence[str]]) -> Self:
        """From the text of the columns `QUALITY_COLUMNS`. Raises ValueError, BadInput."""
        times, jobs, loss, *gpus = columns
        return cls(
            np.array([microseconds(text) for text in times], dtype=np.int64),
            np.array(jobs, dtype=np.int64),
            np.array([text or "nan" for text in loss], dtype=np.float64),
            np.array(gpus, dtype=np.int64).reshape(len(LOSS_GROUPS), -1),
        )


def group_shares(gpus: Ints) -> Mapping[str, float]:
    """Each group's share of the GPU-time; NaN if it is 0.

    `gpus`: `(groups, moments)`, at evenly spaced moments.
    """
    total = int(gpus.sum())
    shares = (int(each) / total if total else math.nan for each in gpus.sum(axis=1))
    return dict(zip(LOSS_GROUPS, shares, strict=True))
