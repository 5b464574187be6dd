"""A placement score after Themis (Mahajan et al., NSDI 2020).

Themis' evaluation scores every allocation by the distance between its GPUs, in four levels of
hardware. Its weights are not published, slots of a machine are not modelled here, and a job wider
than a machine or a rack should not be penalised for its width. This score therefore has three
levels with assumed weights:

    1     on as few machines as can hold it
    1/2   on more machines, in as few racks as can hold it
    1/4   in more racks
"""

from __future__ import annotations

import numpy as np

from motet.domain.arrays import Floats, Ints
from motet.domain.cluster import ClusterSpec
from motet.sim.replay.placements import Holds

TOGETHER, IN_A_RACK, ACROSS_RACKS = 1.0, 0.5, 0.25


def placement_score(holds: Holds, cluster: ClusterSpec) -> float:
    """The mean over all GPU-time that jobs held; NaN if they held none."""
    begins = _begins(holds)
    if not len(begins):
        return float("nan")
    gpus = np.add.reduceat(holds.gpus, begins)
    gpu_us = gpus * (holds.end_us - holds.start_us)[begins].astype(np.float64)
    return float(np.average(_scores(holds, cluster, begins, gpus), weights=gpu_us))


def _scores(holds: Holds, cluster: ClusterSpec, begins: Ints, gpus: Ints) -> Floats:
    """The score of each interval that a job held a placement."""
    machines = np.diff(np.append(begins, len(holds)))
    of = np.repeat(np.arange(len(begins)), machines)
    rack_count = int(cluster.rack.max()) + 1
    visited = np.unique(of * rack_count + cluster.rack[holds.machine]) // rack_count
    racks = np.bincount(visited, minlength=len(begins))
    rack_gpus = np.bincount(cluster.rack, cluster.gpus).astype(np.int64)
    in_fewest_racks = racks <= _fewest(rack_gpus, gpus)
    is_together = in_fewest_racks & (machines <= _fewest(cluster.gpus, gpus))
    scores: Floats = np.where(in_fewest_racks, IN_A_RACK, ACROSS_RACKS)
    return np.where(is_together, TOGETHER, scores)


def _begins(holds: Holds) -> Ints:
    """First row of each such interval; the machines of an interval are consecutive."""
    if not len(holds):
        return np.zeros(0, dtype=np.int64)
    is_new = (np.diff(holds.start_us) != 0) | (np.diff(holds.job) != 0)
    return np.flatnonzero(np.concatenate([[True], is_new]))


def _fewest(sizes: Ints, gpus: Ints) -> Ints:
    """The smallest number of these machines, or racks, that hold this many GPUs."""
    together = np.cumsum(np.sort(sizes)[::-1])
    return np.searchsorted(together, gpus) + 1
