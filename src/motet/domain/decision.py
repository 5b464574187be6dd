"""What should hold from now on: the whole output of a policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from motet.domain.arrays import Floats, Ints
from motet.domain.snapshot import UNKNOWN, Placement
from motet.domain.units import NEVER_US
from motet.domain.wait import COMPARISONS as COMPARISONS  # Policy files import both from here.
from motet.domain.wait import Wait as Wait


@dataclass(frozen=True, eq=False, slots=True)
class Reasons:
    """Why each job waits, `(jobs,)` each.

    `code`: a `Wait`. `free_gpus`: how many GPUs were free at the job's turn. `position`: its place
    in the policy's order, from 0 (UNKNOWN: there is no order now). `measure`, `bar` (one for all
    rows, or one for each): see `COMPARISONS`; other codes, and rows with a NaN, have neither.
    `usable_gpus`: of the free GPUs, those with enough CPUs and memory beside them for the job,
    where they are too few (UNKNOWN: they are not; None: UNKNOWN for all jobs).
    """

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
