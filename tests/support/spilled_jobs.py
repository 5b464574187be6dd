"""Clusterings in a control group that limits their memory together, for tests and benchmarks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import motet
from motet.domain.arrays import Array
from motet.interfaces.training_job import TrainingJob
from motet.live.slots.memory_groups import (
    MemoryGroup,
    group_parent,
    make_memory_group,
    remove_memory_group,
)

MEGABYTE, WIDTH = 1 << 20, 64


class LimitedGroup:
    """Processes that join may use so much memory together; beyond it the kernel kills them."""

    def __init__(self, group: MemoryGroup) -> None:
        self._group = group

    def join(self, process: int) -> None:
        """With all processes that it starts from now on."""
        Path(self._group.procs).write_text(str(process))

    @property
    def kills(self) -> int:
        """Processes that the kernel has killed for want of memory."""
        lines = Path(self._group.events).read_text().splitlines()
        return int(dict(line.split() for line in lines)["oom_kill"])


@contextmanager
def limited_group(folder: Path, limit_mb: int) -> Iterator[LimitedGroup | None]:
    """`folder`: names the group; None: control groups of memory are not permitted here."""
    made = make_memory_group(folder, limit_mb * MEGABYTE, group_parent())
    if made is None:
        yield None
        return
    try:
        yield LimitedGroup(made)
    finally:
        remove_memory_group(made.folder)


def instances(megabytes: int) -> Array:
    """Input of so many megabytes."""
    return np.random.default_rng(0).random((megabytes * MEGABYTE // (8 * WIDTH), WIDTH))


def begun_jobs(
    cluster: motet.Cluster,
    features: Array,
    jobs: int,
    spill: float | str,
    *,
    epochs: int,
    clusters: int,
    **options: Any,
) -> list[TrainingJob]:
    """So many clusterings of the same data, which differ by their seeds."""
    return [
        cluster.submit(
            "kmeans",
            features,
            n_clusters=clusters,
            workers=1,
            servers=1,
            epochs=epochs,
            seed=seed,
            tol=0,
            spill=spill,
            **options,
        )
        for seed in range(jobs)
    ]
