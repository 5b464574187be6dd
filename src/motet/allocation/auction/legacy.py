"""GPUs of jobs that end before their leases: they remain with their experiments.

Themis has two levels: the arbiter leases GPUs to experiments, and an experiment's agent assigns
them to its jobs. Snapshots contain no ended jobs, so the remaining jobs of an experiment carry its
total holdings in their memory columns.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from motet.domain.arrays import Ints

_OF_EXPERIMENT = ("leased_gpus", "early_gpu_us")
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
    count = int(of.max(initial=-1)) + 1
    gpus, early_gpu_us = (_by_experiment(memory[name], of, count) for name in _OF_EXPERIMENT)
    granted = memory["granted_gpus"]
    np.subtract.at(gpus, of, granted)
    np.subtract.at(early_gpu_us, of, granted * np.maximum(due_us - lease_us, 0))
    return gpus, due_us - early_gpu_us // np.maximum(gpus, 1)


def remembered(of: Ints, gpus: Ints, lease_us: Ints, due_us: int) -> dict[str, Ints]:
    """`MEMORY` after a decision. `gpus`, `lease_us: (jobs,)`: grant of each job and its end."""
    count = int(of.max(initial=-1)) + 1
    held, early_gpu_us = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    np.add.at(held, of, gpus)
    np.add.at(early_gpu_us, of, gpus * np.maximum(due_us - lease_us, 0))
    return dict(zip(MEMORY, (gpus, held[of], early_gpu_us[of]), strict=True))


def _by_experiment(column: Ints, of: Ints, count: int) -> Ints:
    """Values by experiment; columns of new jobs are 0."""
    found = np.zeros(count, dtype=np.int64)
    np.maximum.at(found, of, column)
    return found
