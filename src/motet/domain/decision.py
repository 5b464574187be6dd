"""What should hold from now on: the whole output of a policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from motet.domain.arrays import Floats, Ints
from motet.domain.snapshot import UNKNOWN, Placement
from motet.domain.units import NEVER_US


class Wait(IntEnum):
    """Why a job does not run."""

    RUNS = 0
    """It runs."""
    TOO_FEW_GPUS = 1
    """At its turn fewer GPUs were free than it needs: jobs before it have them."""
    BEHIND_HEAD = 2
    """A job before it does not fit and may not be overtaken."""
    LOCALITY = 3
    """Enough GPUs were free, but not as close together as it wants them."""
    QUOTA = 4
    """Its queue uses all that belongs to it."""
    ORDER = 5
    """It would fit, but the policy keeps the GPUs for others (time-slicing)."""
    BEHIND_LOCALITY = 6
    """A job before it waits for GPUs closer together and may not be overtaken."""
    LESS_PROGRESS = 7
    """Its loss is predicted to fall less per GPU than those of the jobs that run."""
    MORE_LEFT = 8
    """It has more GPU time left, as predicted, than the jobs that run."""
    TOO_FEW_CPUS = 9
    """Enough GPUs were free, but not with as many CPUs beside them as it asks for."""
    TOO_LITTLE_MEMORY = 10
    """Enough GPUs were free, but not with as much memory beside them as it asks for."""
    SHARE = 11
    """Its queue holds more than others that wait, which came first."""
    OUTBID = 12
    """An auction gave the GPUs to others."""
    LEASE_OVER = 13
    """It gave back GPUs before the next auction, which others have now."""
    LEFT_UNKNOWN = 14
    """Nobody predicts its end; the GPU time that it is taken to have left is not less than that of
    the jobs that run."""
    FALL_UNKNOWN = 15
    """No loss of it is known; the fall that it is taken to have is not more than that of the jobs
    that run."""


COMPARISONS = (
    Wait.LESS_PROGRESS,
    Wait.MORE_LEFT,
    Wait.SHARE,
    Wait.OUTBID,
    Wait.LEFT_UNKNOWN,
    Wait.FALL_UNKNOWN,
)
"""Reasons with a `measure` and a `bar`: by what the policy compares jobs, and that of the last one
that was chosen for it. LESS_PROGRESS, FALL_UNKNOWN: how far a job's loss is predicted or taken to
fall per GPU. MORE_LEFT, LEFT_UNKNOWN: GPU-seconds that it has left, or is taken to have. SHARE: its
queue's dominant share, and the lowest of those that wait. OUTBID: its finish-time fairness rho at
the last auction, and the lowest that won."""


@dataclass(frozen=True, eq=False, slots=True)
class Reasons:
    """For every row of the snapshot why it waits. `code`: a `Wait`; `free_gpus`: how many were
    free at its turn; `position`: its place in the policy's order, from 0 (UNKNOWN: there is none
    now). `measure`, `bar` (one for all rows, or one for each): see COMPARISONS; of waits without
    such a comparison, and where one of them is NaN, neither counts. `usable_gpus`: how many of the
    free GPUs have beside them what the job needs, where that is too few (UNKNOWN: it was not; None:
    of nobody)."""

    code: Ints
    free_gpus: Ints
    position: Ints
    measure: Floats | None = None
    bar: Floats | float = float("nan")
    usable_gpus: Ints | None = None


class Straggler(NamedTuple):
    """A machine on which computing took so many times as long as usual."""

    machine: int
    times_as_long: float


@dataclass(frozen=True, eq=False, slots=True)
class Decision:
    """The whole allocation, a row per job of the snapshot; policies know nothing of start or stop.

    `gpus[i]`: how many GPUs job i has from now on (0: none). `places`: where, by row, for policies
    that choose machines themselves; the placement planner finds machines for the others, and keeps
    jobs that run where they are. `workers`, `servers`: for elastic jobs; what stands there for the
    others does not matter. None: as many servers as the job asks for, and workers on the rest of
    its GPUs. `share`: of each GPU in percent, where it is not all (None). `group`: two jobs of one
    number and the same `gpus` share them; UNKNOWN: alone (None: everybody). `recheck_at_us`: decide
    again then even if nothing happens. `memory`: new values of the policy's own columns.
    `exclude`: by row, the slow machine for which a job is placed anew, for who asks why.
    """

    gpus: Ints
    reasons: Reasons
    places: Mapping[int, Placement] = field(default_factory=dict)
    workers: Ints | None = None
    servers: Ints | None = None
    share: Ints | None = None
    group: Ints | None = None
    recheck_at_us: int = NEVER_US
    memory: Mapping[str, Ints] = field(default_factory=dict)
    exclude: Mapping[int, Straggler] = field(default_factory=dict)

    @property
    def used_gpus(self) -> int:
        """GPUs that are taken; those that two jobs share count once."""
        total = int(self.gpus.sum())
        if self.group is None:
            return total
        grouped = (self.group != UNKNOWN) & (self.gpus > 0)
        rows = np.flatnonzero(grouped)
        _, first = np.unique(self.group[rows], return_index=True)
        return total - int(self.gpus[rows].sum()) + int(self.gpus[rows][first].sum())
