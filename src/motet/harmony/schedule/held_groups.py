"""The jobs that Harmony groups, and the groups in which they run now.

Jobs are counted from 0 in the order of their numbers, so that the order of the input has no effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from motet.domain.arrays import Bools, Floats
from motet.estimate.colocation.group_time import CPU_WEIGHT, SubtaskTimes
from motet.harmony.problem import (
    Grouping,
    GroupingProblem,
    JobCosts,
    JobGroup,
    work_column,
)


class HeldGroup(NamedTuple):
    """Jobs on the same machines. `ended`: COMP and COMM, on these machines, of its jobs that have
    ended since the last decision, together; None: none has, or none was profiled.
    """

    jobs: tuple[int, ...]
    machines: tuple[int, ...]
    ended: SubtaskTimes | None = None


@dataclass(frozen=True, eq=False)
class Scene:
    """`costs`: of all jobs; without a profile they count as no work. `order`: all jobs, first
    submitted first. `is_profiled`: measured; `is_settled`: profiled, and taken into account by an
    earlier decision. `machines`: numbers of equal machines that groups may have.
    `iterations_left`: see GroupingProblem. `seconds_left`: of each job at its speed so far, NaN
    where unknown; None: of none. `move_s`: for which a job that moves does not train.
    """

    costs: JobCosts
    order: tuple[int, ...]
    is_profiled: Bools
    is_settled: Bools
    held: tuple[HeldGroup, ...]
    machines: tuple[int, ...]
    machine_memory_bytes: float = float("inf")
    cpu_weight: float = CPU_WEIGHT
    iterations_left: Floats | None = None
    seconds_left: Floats | None = None
    move_s: float = 0.0

    def __len__(self) -> int:
        return len(self.order)

    def problem(self, machines: int, more: Sequence[SubtaskTimes] = ()) -> GroupingProblem:
        """All jobs, then `more`, whose times are those on one machine, on this many machines."""
        costs, left = self.costs, self.iterations_left
        if more:
            divided_s = np.array([each.comp_s for each in more])
            comm_s, none = np.array([each.comm_s for each in more]), np.zeros(len(more))
            work_s = self.cpu_weight * divided_s + (1 - self.cpu_weight) * comm_s
            extra = JobCosts(divided_s, none, comm_s, none, none, none, work_s)
            if not len(costs.work_s):
                extra = extra._replace(work_s=costs.work_s)
            if len(costs.local_s):
                extra = extra._replace(local_s=none)
            if len(costs.gap_s):
                extra = extra._replace(gap_s=np.array([each.gap_s for each in more]))
            if len(costs.overlaps):
                extra = extra._replace(overlaps=np.array([float(it.overlaps) for it in more]))
            pairs = zip(costs, extra, strict=True)
            costs = JobCosts(*(np.concatenate(pair) for pair in pairs))
            left = None if left is None else np.append(left, np.full(len(more), np.nan))
        limits = self.machine_memory_bytes, self.cpu_weight
        return GroupingProblem(costs, machines, *limits, left)

    def counting_work(self) -> Scene:
        """Groupings are compared by the work that they do instead of by use (`work_column`)."""
        costs = self.costs
        work_s = work_column(costs, len(self.machines), self.machine_memory_bytes, self.cpu_weight)
        return replace(self, costs=costs._replace(work_s=work_s))

    def overlapping(self, more: Bools) -> Scene:
        """The same, in which these jobs overlap, too."""
        costs = self.costs
        if not more.any():
            return self
        known = costs.overlaps > 0 if len(costs.overlaps) else np.zeros(len(self), np.bool_)
        return replace(self, costs=costs._replace(overlaps=(known | more).astype(float)))

    @property
    def running(self) -> frozenset[int]:
        """Jobs that hold machines."""
        return frozenset(job for group in self.held for job in group.jobs)

    def present(self) -> Grouping:
        """The groups in which jobs run now."""
        return Grouping(tuple(JobGroup(group.jobs, len(group.machines)) for group in self.held))


@dataclass(frozen=True, eq=False)
class GroupPlan:
    """Groups from now on. `is_settled`: as in `Scene`, for the next decision."""

    groups: tuple[JobGroup, ...]
    is_settled: Bools
