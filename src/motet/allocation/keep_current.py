"""A decision that changes nothing."""

from __future__ import annotations

import numpy as np

from motet.domain.decision import Decision, Reasons
from motet.domain.snapshot import UNKNOWN, Snapshot
from motet.domain.wait import Wait


def keep_current(snapshot: Snapshot, until_us: int) -> Decision:
    """Keep running jobs; start no job before `until_us`."""
    gpus = snapshot.jobs.held_gpus.copy()
    free_gpus = snapshot.gpu_count - int(gpus.sum())
    fits = snapshot.jobs.gpus <= free_gpus
    waits = np.where(fits, int(Wait.ORDER), int(Wait.TOO_FEW_GPUS))
    code = np.where(gpus > 0, int(Wait.RUNS), waits)
    free, position = np.full_like(gpus, free_gpus), np.full_like(gpus, UNKNOWN)
    return Decision(gpus, Reasons(code, free, position), recheck_at_us=until_us)


def next_multiple(time_us: int, step_us: int) -> int:
    """The first multiple of `step_us` after `time_us`."""
    return (time_us // step_us + 1) * step_us
