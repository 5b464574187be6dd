"""How much of the input of jobs is kept on disk, so that groups fit into memory (Harmony).

Source: W.-Y. Lee, dissertation, section 4.3.3. A fraction alpha = B_disk / B_total of a job's
blocks is read again from disk before each use and dropped after it. Reading does not delay COMP if

    T_proc (B_total - 1) >= T_load (B_disk - 1),

with the seconds to process and to load one block. The first ratios follow from the sizes; at run
time they are adjusted to measured times and memory pressure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from motet.domain.errors import BadInput


@dataclass(frozen=True)
class SpillableJob:
    """`input_bytes`: in `blocks` equal blocks; `other_bytes`: model and working memory; both over
    all machines. `process_s`, `load_s`: of one block, in memory and from disk.
    """

    input_bytes: float
    other_bytes: float
    blocks: int
    process_s: float
    load_s: float

    def __post_init__(self) -> None:
        if self.blocks < 1:
            raise BadInput(f"blocks={self.blocks}: an input has at least 1")
        for name in ("input_bytes", "other_bytes"):
            if not 0 <= getattr(self, name) < math.inf:
                raise BadInput(f"{name}={getattr(self, name)}: must be 0 or more")
        for name in ("process_s", "load_s"):
            if not 0 < getattr(self, name) < math.inf:
                raise BadInput(f"{name}={getattr(self, name)}: must be above 0")

    @property
    def most_disk_blocks(self) -> int:
        """The most blocks on disk whose loading does not delay COMP."""
        hidden = math.floor(self.process_s * (self.blocks - 1) / self.load_s * (1 + 1e-12))
        return min(self.blocks, 1 + hidden)

    def resident_bytes(self, disk_blocks: int) -> float:
        """Bytes in memory with this many blocks on disk."""
        return self.input_bytes * (1 - disk_blocks / self.blocks) + self.other_bytes

    @property
    def least_bytes(self) -> float:
        """Bytes in memory with as many blocks on disk as do not delay COMP: with reloading, the
        memory of the job in a `GroupingProblem`.
        """
        return self.resident_bytes(self.most_disk_blocks)


def first_disk_blocks(jobs: Sequence[SpillableJob], memory_bytes: float) -> list[int] | None:
    """Blocks on disk of each job of a group, so that all fit into its machines' memory; None if
    they do not even with `most_disk_blocks`.

    All jobs have about the same ratio, the smallest that suffices, or their own largest one.
    """
    if sum(job.least_bytes for job in jobs) > memory_bytes:
        return None
    ratios = sorted({0.0, *(n / job.blocks for job in jobs for n in range(1, job.blocks + 1))})
    low, high = 0, len(ratios) - 1
    while low < high:
        middle = (low + high) // 2
        if _resident_bytes(jobs, _at_ratio(jobs, ratios[middle])) <= memory_bytes:
            high = middle
        else:
            low = middle + 1
    return _at_ratio(jobs, ratios[low])


def _at_ratio(jobs: Sequence[SpillableJob], ratio: float) -> list[int]:
    """Whole blocks up to this ratio, at most those that do not delay COMP."""
    return [min(job.most_disk_blocks, math.floor(ratio * job.blocks * (1 + 1e-12))) for job in jobs]


def _resident_bytes(jobs: Sequence[SpillableJob], disk_blocks: Sequence[int]) -> float:
    pairs = zip(jobs, disk_blocks, strict=True)
    return sum(job.resident_bytes(blocks) for job, blocks in pairs)
