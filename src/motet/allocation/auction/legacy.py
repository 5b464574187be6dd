"""GPUs of jobs that end before their leases: they remain with their experiments.

Themis has two levels: the arbiter leases GPUs to experiments, and an experiment's agent assigns
them to its jobs. Snapshots contain no ended jobs, so the remaining jobs of an experiment carry its
total holdings in their memory columns.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numba import njit

from motet.domain.arrays import Ints, read_only

_OF_EXPERIMENT = ("leased_gpus", "early_gpu_us")
_COLUMNS = (*_OF_EXPERIMENT, "granted_gpus")
MEMORY = {"granted_gpus": 0, **dict.fromkeys(_OF_EXPERIMENT, 0)}
"""As of the last decision: GPUs granted to a job; for its experiment, the GPUs granted to all of
its jobs, and the GPU-time by which their leases end before the next auction.
"""


def legacies(
    of: Ints, lease_us: Ints, memory: Mapping[str, Ints], due_us: int
) -> tuple[Ints, Ints]:
    """GPUs of jobs that ended since the last decision, and the end of their leases, by experiment.

    `of`, `lease_us: (jobs,)` of the remaining jobs. `due_us`: time of the next auction. For several
    ended leases the end is the GPU-weighted average, which preserves GPU-time.

    Counts the GPUs granted to the remaining jobs, not the GPUs that they hold: a job that lacks
    CPUs or memory beside its GPUs has not ended.
    """
    gpus, early_gpu_us, granted, ends_us = (
        read_only(column) for column in (*(memory[name] for name in _COLUMNS), lease_us)
    )
    return _legacies(of, ends_us, gpus, early_gpu_us, granted, due_us)


def remembered(of: Ints, gpus: Ints, lease_us: Ints, due_us: int) -> dict[str, Ints]:
    """`MEMORY` after a decision. `gpus`, `lease_us: (jobs,)`: grant of each job and its end."""
    held, early_gpu_us = _remembered(of, gpus, lease_us, due_us)
    return dict(zip(MEMORY, (gpus, held, early_gpu_us), strict=True))


@njit(cache=True)
def _legacies(
    of: Ints, lease_us: Ints, leased_gpus: Ints, leased_gpu_us: Ints, granted: Ints, due_us: int
) -> tuple[Ints, Ints]:
    count = of.max() + 1 if len(of) else 0
    gpus, early_gpu_us = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for row, each in enumerate(of):  # Columns of new jobs are 0.
        gpus[each] = max(gpus[each], leased_gpus[row])
        early_gpu_us[each] = max(early_gpu_us[each], leased_gpu_us[row])
    for row, each in enumerate(of):
        gpus[each] -= granted[row]
        early_gpu_us[each] -= granted[row] * max(due_us - lease_us[row], 0)
    for each in range(count):
        early_gpu_us[each] = due_us - early_gpu_us[each] // max(gpus[each], 1)
    return gpus, early_gpu_us


@njit(cache=True)
def _remembered(of: Ints, gpus: Ints, lease_us: Ints, due_us: int) -> tuple[Ints, Ints]:
    count = of.max() + 1 if len(of) else 0
    held, early_gpu_us = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for row, each in enumerate(of):
        held[each] += gpus[row]
        early_gpu_us[each] += gpus[row] * max(due_us - lease_us[row], 0)
    return held[of], early_gpu_us[of]
