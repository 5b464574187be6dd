"""The output of a policy: the complete allocation from now on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

import numpy as np

from motet.domain.arrays import Bools, Floats, Ints
from motet.domain.frozen.made_fast import made_fast
from motet.domain.snapshot import UNKNOWN, Placement
from motet.domain.units import NEVER_US
from motet.domain.wait import COMPARISONS as COMPARISONS  # Policy files import both from here.
from motet.domain.wait import Wait as Wait


@made_fast
@dataclass(frozen=True, eq=False, slots=True)
class Reasons:
    """Reasons for waiting, `(jobs,)` each.

    `code`: a `Wait`. `free_gpus`: number of free GPUs when the policy considered the job.
    `position`: the job's place in the policy's order, from 0 (UNKNOWN: the policy has no order
    now). `measure`, `bar` (one for all rows, or one for each): see `COMPARISONS`; other codes, and
    rows with a NaN, have neither. `usable_gpus`: if CPUs or memory do not suffice for the job, the
    number of free GPUs with enough of them on the same machine (UNKNOWN: they suffice; None:
    UNKNOWN for all jobs). `until_us`: when what keeps the job back ends at the latest (NEVER_US:
    not known, then the next decision may end the wait; None: NEVER_US for all jobs).
    """

    code: Ints
    free_gpus: Ints
    position: Ints
    measure: Floats | None = None
    bar: Floats | float = float("nan")
    usable_gpus: Ints | None = None
    until_us: Ints | None = None

    def known_until(self, rows: Ints, until_us: int | Ints) -> Ints:
        """A copy of `until_us` with this time, or one for each, of these rows."""
        known = np.full(len(self.code), NEVER_US, np.int64)
        if self.until_us is not None:
            known[:] = self.until_us
        known[rows] = until_us
        return known


class Straggler(NamedTuple):
    """A slow machine; `times_as_long`: its computing time divided by the usual one."""

    machine: int
    times_as_long: float


class GroupForecast(NamedTuple):
    """What a policy expects of jobs that share machines. `iteration_s`: in which each of them makes
    an iteration; `in_turn_s`: of these iterations one after the other; `cpu`, `network`: parts of
    the time in which they are in use, 0 to 1; `jobs`: how many of them it covers, those that have
    been measured.
    """

    iteration_s: float
    in_turn_s: float
    cpu: float
    network: float
    jobs: int


class GroupMeasurement(NamedTuple):
    """What was measured of a job since it shares its machines with the same jobs.

    `iteration_s`: of its iterations, waiting included. `alone_s`: of one alone on as many machines;
    `is_alone_measured`: while it was, else it is predicted, as its COMP and COMM one after the
    other. Of all `jobs` that were measured on these machines: `work`: how many times as much they
    did together as they would do one at a time; `cpu`, `network`: parts of the time in which they
    used them. `own_cpu`, `own_network`: the same of the job alone.
    """

    iteration_s: float
    alone_s: float
    is_alone_measured: bool
    work: float
    cpu: float
    network: float
    own_cpu: float
    own_network: float
    jobs: int


class SizeRefusal(Enum):
    """Why a job does not get the size that it proposes. The values are sentences about the job,
    which follow its name."""

    CHOSEN_BY_POLICY = "the policy divides the GPUs itself, and gives it fewer"
    OTHERS_WAIT = "waiting jobs get free GPUs first"
    TOO_FEW_GPUS = "too few GPUs are free"
    QUEUE_LIMIT = "the limit of its queue does not permit it"
    GUARANTEES = "the free GPUs are guaranteed to other queues"
    SHARED = "jobs share GPUs under this policy"
    NO_ROOM = "no machines with free GPUs have CPUs and memory for it beside the other jobs"
    DRAINED = "it holds GPUs of a machine that takes no jobs"

    @property
    def key(self) -> str:
        """The name in files: "others_wait"."""
        return self.name.lower()


def refusal_named(key: str) -> SizeRefusal:
    """The reason of a name in files. Raises KeyError."""
    return SizeRefusal[key.upper()]


@made_fast
@dataclass(frozen=True, eq=False, slots=True)
class Decision:
    """The complete allocation, a row per job of the snapshot; the engine derives starts and stops.

    `gpus[i]`: number of GPUs of job i from now on (0: none). `places`: machines by row, from
    policies that choose machines themselves; for other rows the placement planner chooses them, and
    running jobs stay on theirs. `workers`, `servers`: for elastic jobs; the values of other rows
    are ignored. None: the requested number of servers, and workers on the remaining GPUs. `share`:
    percentage of each GPU (None: 100). `group`: jobs with the same number and the same `gpus` share
    them on the same machines; UNKNOWN: exclusive use (None: for all jobs). `recheck_at_us`: time of
    the next decision if no event occurs before. `memory`: new values of the policy's own columns.
    `spill`: part of each job's input that is kept on disk, 0 to 1 (None: nothing is).
    `asynchronous`: jobs whose users permit it that train asynchronously from now on: a running job
    of which nothing else changes starts again on its slots, also without a place (None: jobs that
    start train as their users want, the others go on as they are). `forecasts`: by row, of the
    job's group, for the decision log. `exclude`: by row, the slow machine that caused a new
    placement, for the decision log. `refused`: by row, why the job runs with fewer
    GPUs than it proposed; filled by the engine.
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
    spill: Floats | None = None
    asynchronous: Bools | None = None
    forecasts: Mapping[int, GroupForecast] = field(default_factory=dict)
    refused: Mapping[int, SizeRefusal] = field(default_factory=dict)

    @property
    def used_gpus(self) -> int:
        """Number of allocated GPUs; those that several jobs share count once."""
        total = int(self.gpus.sum())
        if self.group is None:
            return total
        rows = np.flatnonzero((self.group != UNKNOWN) & (self.gpus > 0))
        rows = rows[np.argsort(self.group[rows], kind="stable")]
        group = self.group[rows]
        return total - int(self.gpus[rows[1:]][group[1:] == group[:-1]].sum())
