"""Ratios of completion times of the same jobs under two policies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from motet.domain.arrays import Floats, Ints
from motet.report.cluster_run.job_pairs import JobPairs, concatenate_pairs

TOLERANCE = 0.01
MOST_LISTED = 5
_SHORTEST_S = 1e-6


@dataclass(frozen=True)
class JobRatio:
    """`ratio`: the job's completion time over that under the first policy, `after_s / before_s`."""

    job_id: str
    seed: int
    before_s: float
    after_s: float
    ratio: float


@dataclass(frozen=True)
class JobRatios:
    """Jobs that finish at least 1 % sooner, or later, under `policy` than under `against`.

    `jobs`: number of jobs that finished under both, over all seeds. `sooner_ratio`, `later_ratio`:
    geometric means of their ratios (1 without such jobs). `largest_gains`, `largest_losses`: the
    jobs with the largest differences in seconds.
    """

    policy: str
    against: str
    jobs: int
    sooner: int
    later: int
    sooner_ratio: float
    later_ratio: float
    largest_gains: list[JobRatio]
    largest_losses: list[JobRatio]

    @classmethod
    def of(cls, policy: str, against: str, by_seed: Mapping[int, JobPairs]) -> JobRatios:
        """Compares each job with itself under the same seed."""
        pairs = concatenate_pairs(list(by_seed.values()))
        seeds = np.repeat(list(by_seed), [len(each.ids) for each in by_seed.values()])
        before_s = np.maximum(pairs.before_s, _SHORTEST_S)
        ratio = np.maximum(pairs.after_s, _SHORTEST_S) / before_s
        is_sooner, is_later = ratio < 1 - TOLERANCE, ratio > 1 + TOLERANCE
        by_gain = np.argsort(pairs.after_s - pairs.before_s, kind="stable")
        largest_gains = by_gain[is_sooner[by_gain]][:MOST_LISTED]
        largest_losses = by_gain[is_later[by_gain]][::-1][:MOST_LISTED]
        return cls(
            policy,
            against,
            len(ratio),
            int(is_sooner.sum()),
            int(is_later.sum()),
            _geometric_mean(ratio[is_sooner]),
            _geometric_mean(ratio[is_later]),
            _listed(pairs, seeds, ratio, largest_gains),
            _listed(pairs, seeds, ratio, largest_losses),
        )

    def as_dict(self) -> dict[str, Any]:
        """An entry of `winners_and_losers` in the document of `motet compare`."""
        return {
            "policy": self.policy,
            "against": self.against,
            "jobs": self.jobs,
            "winners": self.sooner,
            "losers": self.later,
            "winners_ratio": self.sooner_ratio,
            "losers_ratio": self.later_ratio,
            "most_won": [asdict(each) for each in self.largest_gains],
            "most_lost": [asdict(each) for each in self.largest_losses],
        }


def _listed(pairs: JobPairs, seeds: Ints, ratio: Floats, rows: Ints) -> list[JobRatio]:
    columns = (pairs.before_s, pairs.after_s, ratio)
    return [
        JobRatio(pairs.ids[row], int(seeds[row]), *(float(column[row]) for column in columns))
        for row in rows
    ]


def _geometric_mean(ratios: Floats) -> float:
    return float(np.exp(np.log(ratios).mean())) if len(ratios) else 1.0
