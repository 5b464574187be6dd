"""Leave everything as it is."""

from __future__ import annotations

import numpy as np

from motet.domain.decision import Decision, Reasons, Wait
from motet.domain.snapshot import Snapshot


def hold(snapshot: Snapshot, until_us: int) -> Decision:
    """Whoever runs goes on, nobody starts before `until_us`."""
    gpus = snapshot.jobs.held_gpus.copy()
    code = np.where(gpus > 0, int(Wait.RUNS), int(Wait.ORDER))
    free = np.full_like(gpus, snapshot.gpu_count - int(gpus.sum()))
    places = np.arange(len(gpus))
    return Decision(gpus, Reasons(code, free, places), recheck_at_us=until_us)


def next_multiple(time_us: int, step_us: int) -> int:
    """The first multiple of `step_us` after `time_us`."""
    return (time_us // step_us + 1) * step_us
