"""One run of a cluster in columns: finished jobs, and the use of the cluster over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from motet.domain.arrays import Floats, Ints
from motet.report.cluster_run.quality import QualityOverTime

BINS = ("SS", "SL", "LS", "LL")
"""Small or large (more than 4 GPUs), then short or long (at least 800 s), as in Tiresias' table."""

BIN_NAMES = ("small short", "small long", "large short", "large long")

LARGEST_SMALL_GPUS, SHORTEST_LONG_S = 4, 800.0


@dataclass(frozen=True, eq=False)
class ClusterRun:
    """Columns from `ids` to `queueing_delay_s` have a row per finished job, `(jobs,)`; `times_s`,
    `used_gpus` and `waiting_jobs` have a row per decision, `(decisions,)`.

    `label`: name of the policy (and value of a swept parameter). `duration_s`: run time of a job
    alone on its GPUs, consolidated. `rho`: finish-time fairness of every finished experiment,
    `(experiments,)`, where a job without an experiment counts as one; NaN for a duration of 0.
    `delay_causes_s`: waiting time of all jobs by cause. `quality`: None without loss curves.
    """

    label: str
    ids: tuple[str, ...]
    gpus: Ints
    duration_s: Floats
    jct_s: Floats
    queueing_delay_s: Floats
    rho: Floats
    delay_causes_s: Mapping[str, float]
    gpu_count: int
    times_s: Floats
    used_gpus: Ints
    waiting_jobs: Ints
    quality: QualityOverTime | None = None

    @property
    def bins(self) -> Ints:
        """Index into BINS of every job, `(jobs,)`."""
        is_large, is_long = self.gpus > LARGEST_SMALL_GPUS, self.duration_s >= SHORTEST_LONG_S
        return 2 * is_large.astype(np.int64) + is_long


def rho_of_experiments(rho: Floats, experiments: Sequence[str]) -> Floats:
    """Rho of every experiment once, `(experiments,)`, in the order of their first jobs.

    `rho`: `(jobs,)`, of each job's experiment; `experiments`: their names, "" for a job alone.
    """
    first: dict[str, int] = {}
    for job, name in enumerate(experiments):
        first.setdefault(name, job)
    return rho[[job for job, name in enumerate(experiments) if not name or first[name] == job]]
