"""What tables and figures of a simulation are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from motet.domain.arrays import Floats, Ints
from motet.report.cluster_run.quality import QualityOverTime

COLUMNS = (
    "job_id",
    "user",
    "queue",
    "num_gpus",
    "submit_time",
    "start_time",
    "end_time",
    "jct",
    "queueing_delay",
    "preemptions",
    "promotions",
    "migrations",
    "state",
)
"""Of `jobs.csv`."""

FAIRNESS_COLUMNS = ("job_id", "duration", "ideal_time", "rho", "experiment")
"""Of `fairness.csv`. `experiment`: empty for a job alone; earlier versions did not write it."""

TRAINING_COLUMNS = (
    "job_id",
    "start_time",
    "end_time",
    "workers",
    "servers",
    "first_step",
    "last_step",
    "first_loss",
    "last_loss",
)
"""Of `training.csv`."""

BINS = ("SS", "SL", "LS", "LL")
"""Small or large (more than 4 GPUs), then short or long (at least 800 s), as in Tiresias' table."""

BIN_NAMES = ("small short", "small long", "large short", "large long")

LARGEST_SMALL_GPUS, SHORTEST_LONG_S = 4, 800.0


@dataclass(frozen=True, eq=False)
class SimulatedJobs:
    """One run. The first columns have a row per finished job, the last three one per decision.

    `duration_s`: how long a job runs on its GPUs alone and consolidated. `rho`: finish-time
    fairness of every experiment that finished, `(experiments,)`, of which a job alone is one; NaN
    of those of no duration. `delay_causes_s`: waiting time of the jobs, by cause. `quality`: of
    jobs with loss curves.
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
    def bins(self) -> NDArray[np.int64]:
        """Index into BINS of every job."""
        is_large, is_long = self.gpus > LARGEST_SMALL_GPUS, self.duration_s >= SHORTEST_LONG_S
        return 2 * is_large.astype(np.int64) + is_long


def of_experiments(rho: Floats, experiments: Sequence[str]) -> Floats:
    """Each experiment's once, in the order of their first jobs.

    `rho`: `(jobs,)`, of each job's experiment; `experiments`: their names, "" of a job alone.
    """
    first: dict[str, int] = {}
    for job, name in enumerate(experiments):
        first.setdefault(name, job)
    return rho[[job for job, name in enumerate(experiments) if not name or first[name] == job]]


class Pairs(NamedTuple):
    """Jobs that finished in two runs. `bins`: under the first."""

    ids: tuple[str, ...]
    before_s: Floats
    after_s: Floats
    bins: Ints


def paired(first: SimulatedJobs, second: SimulatedJobs) -> Pairs:
    """Completion times of the jobs that both finished, in the first's order."""
    row_of = {name: row for row, name in enumerate(second.ids)}
    pairs = [(row, row_of[name]) for row, name in enumerate(first.ids) if name in row_of]
    left, right = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    ids = tuple(first.ids[row] for row in left)
    return Pairs(ids, first.jct_s[left], second.jct_s[right], first.bins[left])


def pooled(parts: Sequence[Pairs]) -> Pairs:
    """Of several seeds, one after the other."""
    floats, ints = np.empty(0), np.empty(0, dtype=np.int64)
    return Pairs(
        tuple(name for part in parts for name in part.ids),
        np.concatenate([floats, *(part.before_s for part in parts)]),
        np.concatenate([floats, *(part.after_s for part in parts)]),
        np.concatenate([ints, *(part.bins for part in parts)]),
    )
