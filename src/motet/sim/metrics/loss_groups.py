"""GPUs held by jobs with high losses and by jobs that have nearly converged.

As SLAQ's figure 3 (Zhang et al., SoCC 2017): at any time the jobs are ordered by normalised loss
and divided into the highest quarter, the next quarter and the lowest half.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from motet.domain.arrays import Floats, Ints
from motet.sim.replay.placements import Holds

_ENDS = (0.0, 0.25, 0.5, 1.0)


def held_gpus(holds: Holds, jobs: int, times_us: Any) -> Ints:
    """`(jobs, times)`: GPUs on all machines, of training jobs and of jobs in restore.

    `times_us`: ascending. GPUs that two jobs share count for both.
    """
    change = np.zeros((jobs, len(times_us) + 1), dtype=np.int64)
    for ends_us, sign in ((holds.start_us, 1), (holds.end_us, -1)):
        place = np.searchsorted(times_us, ends_us)
        np.add.at(change, (holds.job, place), sign * holds.gpus)
    held: Ints = np.cumsum(change, axis=1)[:, :-1]
    return held


def gpus_by_loss(losses: Floats, gpus: Ints) -> Ints:
    """`(3, times)`: GPUs of the quarter of jobs with the highest losses, the next, the lowest half.

    `losses`, `gpus`: `(jobs, times)`; a job with loss NaN is absent. Group sizes n/4 and n/2 are
    rounded; ties of losses go to the first job.
    """
    order = np.argsort(-losses, axis=0, kind="stable")
    ordered = np.take_along_axis(gpus, order, axis=0)
    until = np.cumsum(np.vstack([np.zeros_like(gpus, shape=(1, gpus.shape[1])), ordered]), axis=0)
    there = (~np.isnan(losses)).sum(axis=0)
    cuts = np.round(np.multiply.outer(_ENDS, there)).astype(np.int64)
    groups: Ints = np.diff(np.take_along_axis(until, cuts, axis=0), axis=0)
    return groups
