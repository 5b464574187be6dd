"""Whose GPUs: those of the jobs with the highest losses, or of those that have nearly converged.

As SLAQ's figure 3 (Zhang et al., SoCC 2017): at any time the jobs are ordered by their normalised
loss and cut into the highest quarter, the next quarter and the lowest half.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from motet.domain.arrays import Floats, Ints
from motet.sim.replay.placements import Holds

_ENDS = (0.0, 0.25, 0.5, 1.0)


def held_gpus(holds: Holds, jobs: int, times_us: Any) -> Ints:
    """`(jobs, times)`: on all machines, whether the job trains or is still being restored.

    `times_us`: ascending. GPUs that two jobs share count for both.
    """
    change = np.zeros((jobs, len(times_us) + 1), dtype=np.int64)
    for ends_us, sign in ((holds.start_us, 1), (holds.end_us, -1)):
        place = np.searchsorted(times_us, ends_us)
        np.add.at(change, (holds.job, place), sign * holds.gpus)
    held: Ints = np.cumsum(change, axis=1)[:, :-1]
    return held


def gpus_by_loss(losses: Floats, gpus: Ints) -> Ints:
    """`(3, times)`: held by the quarter of jobs with the highest losses, the next, the lowest half.

    `losses`, `gpus`: `(jobs, times)`; a job whose loss is NaN is not there. Of n jobs the first
    n/4 and n/2 are rounded to whole ones; of equal losses the first job's is the higher.
    """
    order = np.argsort(-losses, axis=0, kind="stable")
    ordered = np.take_along_axis(gpus, order, axis=0)
    until = np.cumsum(np.vstack([np.zeros_like(gpus, shape=(1, gpus.shape[1])), ordered]), axis=0)
    there = (~np.isnan(losses)).sum(axis=0)
    cuts = np.round(np.multiply.outer(_ENDS, there)).astype(np.int64)
    groups: Ints = np.diff(np.take_along_axis(until, cuts, axis=0), axis=0)
    return groups
