"""How fast jobs are together on a share of a cluster, whose GPUs they take turns on.

On a part of the GPUs that it needs, or between two of its widths, a job takes turns between what it
can: its speed is the least concave function that is not below its own. Of several jobs the share
goes to where it makes them fastest. A gang of g GPUs is as fast as its share, up to g.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from motet.domain.arrays import Floats, Ints


class Pieces(NamedTuple):
    """Straight pieces of these functions: `job`, `gpus` of length, and `gain` in speed per GPU."""

    job: Ints
    gpus: Floats
    gain: Floats


def pieces_of(first: Ints, gpus: ArrayLike, speed: Floats) -> Pieces:
    """Job i runs on `gpus[first[i] : first[i + 1]]`, ascending, at these speeds."""
    return Pieces(*_pieces(first, np.asarray(gpus, dtype=np.float64), speed))


def speeds_together(pieces: Pieces, of: Ints, share_gpus: ArrayLike) -> Floats:
    """`(groups,)`: how fast the jobs of each are on its share. `of: (jobs,)`: their groups."""
    share = np.asarray(share_gpus, dtype=np.float64)
    group = of[pieces.job]
    order = np.lexsort((-pieces.gain, group))
    group, gpus, gain = group[order], pieces.gpus[order], pieces.gain[order]
    passed = np.cumsum(gpus) - gpus
    begins = np.searchsorted(group, np.arange(len(share)))
    before = passed - passed[begins][group] if len(group) else passed
    taken = np.clip(share[group] - before, 0.0, gpus)
    found: Floats = np.bincount(group, taken * gain, minlength=len(share)).astype(np.float64)
    return found


@njit(cache=True)
def _pieces(first: Ints, gpus: Floats, speed: Floats) -> tuple[Ints, Floats, Floats]:
    """From (0, 0) on, corner by corner: what lies below the line between its neighbours is none."""
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
