"""Total speed of jobs that share the GPUs of a cluster in turns.

On a fraction of the GPUs that it needs, or between two of its widths, a job alternates between its
configurations: its speed is the least concave majorant of its speed function. Among several jobs
the share goes to the largest gains. A gang of g GPUs has a speed equal to its share, up to g.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from motet.domain.arrays import Floats, Ints


class Pieces(NamedTuple):
    """Linear pieces of these functions: `job`, length in `gpus`, and `gain` in speed per GPU."""

    job: Ints
    gpus: Floats
    gain: Floats


class GroupPieces(NamedTuple):
    """Pieces of the jobs of each group, in descending order of gain. `before`: total GPUs of the
    preceding pieces of the group.
    """

    group: Ints
    gpus: Floats
    gain: Floats
    before: Floats

    @classmethod
    def of(cls, pieces: Pieces, of: Ints, groups: int) -> Self:
        """`of: (jobs,)`: the group of each job; every group has a job."""
        group = of[pieces.job]
        order = np.lexsort((-pieces.gain, group))
        group, gpus, gain = group[order], pieces.gpus[order], pieces.gain[order]
        passed = np.cumsum(gpus) - gpus
        begins = np.searchsorted(group, np.arange(groups))
        return cls(group, gpus, gain, passed - passed[begins][group] if len(group) else passed)


def pieces_of(first: Ints, gpus: ArrayLike, speed: Floats) -> Pieces:
    """Pieces of jobs; job i runs on `gpus[first[i] : first[i + 1]]`, ascending, at these speeds."""
    lengths = np.ascontiguousarray(gpus, dtype=np.float64)
    return Pieces(*_pieces(first, lengths, np.ascontiguousarray(speed)))


def speeds_together(pieces: GroupPieces, share_gpus: ArrayLike) -> Floats:
    """`(groups,)`: total speed of the jobs of each group on its share."""
    share = np.asarray(share_gpus, dtype=np.float64)
    taken = np.clip(share[pieces.group] - pieces.before, 0.0, pieces.gpus)
    total = np.bincount(pieces.group, taken * pieces.gain, minlength=len(share))
    found: Floats = total.astype(np.float64)
    return found


@njit(cache=True)
def _pieces(first: Ints, gpus: Floats, speed: Floats) -> tuple[Ints, Floats, Floats]:
    """The corners of the concave majorant from (0, 0) on; points below it are dropped."""
    job, length, gain = np.empty(len(gpus), np.int64), np.empty(len(gpus)), np.empty(len(gpus))
    corner = np.empty(len(gpus), np.int64)
    end = 0
    for row in range(len(first) - 1):
        begin = end
        for entry in range(first[row], first[row + 1]):
            size, rise = gpus[entry], speed[entry]
            while end > begin:
                last = corner[end - 1]
                size, rise = gpus[entry] - gpus[last], speed[entry] - speed[last]
                if rise / size < gain[end - 1]:
                    break
                end -= 1
                size, rise = gpus[entry], speed[entry]
            corner[end], job[end], length[end], gain[end] = entry, row, size, rise / size
            end += 1
    return job[:end], length[:end], gain[:end]
