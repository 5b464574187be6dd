"""Which jobs are done sooner under one policy than under another, and which later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motet.domain.arrays import Floats
from motet.report.cluster_run.jobs import Pairs, pooled

TOLERANCE = 0.01
EXTREMES = 5


@dataclass(frozen=True)
class Move:
    """A job that moved far. `ratio`: its completion time over that under the first policy."""

    job_id: str
    seed: int
    before_s: float
    after_s: float
    ratio: float


@dataclass(frozen=True)
class WinnersAndLosers:
    """Jobs that finish under both. Winners are done at least 1 % sooner than under the first.

    `jobs`: how many finished under both, over all seeds. `winners_ratio`, `losers_ratio`: geometric
    means of their ratios (1 if there are none). `most_won`, `most_lost`: by seconds.
    """

    policy: str
    against: str
    jobs: int
    winners: int
    losers: int
    winners_ratio: float
    losers_ratio: float
    most_won: list[Move]
    most_lost: list[Move]

    @classmethod
    def of(cls, policy: str, against: str, by_seed: Mapping[int, Pairs]) -> WinnersAndLosers:
        """A job is compared with itself under the same seed."""
        same = pooled(list(by_seed.values()))
        seeds = np.repeat(list(by_seed), [len(pairs.ids) for pairs in by_seed.values()])
        ratio = np.maximum(same.after_s, 1e-6) / np.maximum(same.before_s, 1e-6)
        wins, loses = ratio < 1 - TOLERANCE, ratio > 1 + TOLERANCE
        by_gain = np.argsort(same.after_s - same.before_s, kind="stable")

        def moves(rows: NDArray[np.int64]) -> list[Move]:
            cells = (same.before_s, same.after_s, ratio)
            return [
                Move(same.ids[row], int(seeds[row]), *(float(column[row]) for column in cells))
                for row in rows
            ]

        return cls(
            policy,
            against,
            len(ratio),
            int(wins.sum()),
            int(loses.sum()),
            _geometric_mean(ratio[wins]),
            _geometric_mean(ratio[loses]),
            moves(by_gain[wins[by_gain]][:EXTREMES]),
            moves(by_gain[loses[by_gain]][::-1][:EXTREMES]),
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def _geometric_mean(ratios: Floats) -> float:
    return float(np.exp(np.log(ratios).mean())) if len(ratios) else 1.0
