"""What jobs leave behind that end before their leases do: it stays with their experiments.

Themis has two levels: its arbiter leases GPUs to experiments, and which of an experiment's jobs run
on them is up to its agent. A job that has ended is in no snapshot any more, so what its experiment
holds altogether is kept with the jobs that it still has.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from motet.domain.arrays import Ints

_OF_EXPERIMENT = ("leased_gpus", "early_gpu_us")
MEMORY = {"granted_gpus": 0, **dict.fromkeys(_OF_EXPERIMENT, 0)}
"""As of the last decision: GPUs granted to a job; of its experiment, all that was granted to its
jobs, and the GPU-time by which their leases end before the next auction."""


def legacies(
    of: Ints, lease_us: Ints, memory: Mapping[str, Ints], due_us: int
) -> tuple[Ints, Ints]:
    """By experiment: GPUs of jobs that have ended since the last decision, and until when.

    `of`, `lease_us: (jobs,)` of those that are still there. `due_us`: of the next auction. Of
    several leases that ended, the average by GPUs, so no GPU-time is won or lost.

    Who is still there left nothing, whether or not it found CPUs and memory beside its GPUs: so
    what counts is what was granted to it and not what it holds.
    """
    count = int(of.max(initial=-1)) + 1
    gpus, early_gpu_us = (_by_experiment(memory[name], of, count) for name in _OF_EXPERIMENT)
    granted = memory["granted_gpus"]
    np.subtract.at(gpus, of, granted)
    np.subtract.at(early_gpu_us, of, granted * np.maximum(due_us - lease_us, 0))
    return gpus, due_us - early_gpu_us // np.maximum(gpus, 1)


def remembered(of: Ints, gpus: Ints, lease_us: Ints, due_us: int) -> dict[str, Ints]:
    """`MEMORY` after a decision. `gpus`, `lease_us: (jobs,)`: what each gets, and until when."""
    count = int(of.max(initial=-1)) + 1
    held, early_gpu_us = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    np.add.at(held, of, gpus)
    np.add.at(early_gpu_us, of, gpus * np.maximum(due_us - lease_us, 0))
    return dict(zip(MEMORY, (gpus, held[of], early_gpu_us[of]), strict=True))


def _by_experiment(column: Ints, of: Ints, count: int) -> Ints:
    """New jobs know nothing yet."""
    found = np.zeros(count, dtype=np.int64)
    np.maximum.at(found, of, column)
    return found
