"""Measured COMP and COMM of jobs, as columns of `Estimates`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from motet.domain.arrays import Floats
from motet.domain.estimates import Overlap, SubtaskEstimates
from motet.domain.events import DataSizes
from motet.estimate.colocation.group_time import SubtaskTimes
from motet.estimate.colocation.memory_curve import MachineBytes, memory_curve
from motet.estimate.colocation.subtask_profile import SubtaskProfile

_NAN = float("nan")


@dataclass
class MeasuredSubtasks:
    """Of one job; `profile`: None before the first measurement.

    `memory`: by number of machines, the latest measurement.
    """

    data: DataSizes
    profile: SubtaskProfile | None = None
    memory: dict[int, MachineBytes] = field(default_factory=dict)

    def add(self, machines: int, times: SubtaskTimes, memory: MachineBytes | None = None) -> None:
        """Record an iteration. Raises BadInput for times without meaning."""
        if memory is not None:
            self.memory[machines] = memory
        self.profile = SubtaskProfile.after(self.profile, machines, times)

    @property
    def columns(self) -> tuple[float, ...]:
        """The job's row of `SubtaskEstimates`, without `overlap`."""
        sizes = float(self.data.input_bytes), float(self.data.model_bytes), 0.0
        if self.memory:
            sizes = 0.0, *memory_curve(self.memory)
        if self.profile is None:
            return (*sizes, _NAN, _NAN, _NAN, _NAN)
        return (*sizes, *self.profile.comp, self.profile.comm_s, self.profile.outside_s)

    @property
    def overlap(self) -> Overlap:
        """As specified, until its own reports tell whether it does: a table that exchanges changes
        is not pulled ahead, and journals from before specify NEVER of every job."""
        if self.data.overlap is Overlap.PERMITTED or self.profile is None:
            return self.data.overlap
        return Overlap.ALWAYS if self.profile.overlaps else Overlap.NEVER


_UNREPORTED = (_NAN, _NAN, 0.0, _NAN, _NAN, _NAN, _NAN)


def subtask_estimates(rows: Sequence[MeasuredSubtasks | None]) -> SubtaskEstimates:
    """A row for each; None: a job that reports no COMP and COMM."""
    values = [_UNREPORTED if row is None else row.columns for row in rows]
    table: Floats = np.array(values, dtype=np.float64).reshape(-1, len(_UNREPORTED))
    columns = [np.ascontiguousarray(column) for column in table.T]
    overlap = np.array([0 if row is None else row.overlap for row in rows], dtype=np.int64)
    for column in (*columns, overlap):
        column.flags.writeable = False
    input_bytes, model_bytes, machine_bytes, divided_s, constant_s, comm_s, outside_s = columns
    return SubtaskEstimates(
        input_bytes,
        model_bytes,
        machine_bytes,
        divided_s,
        constant_s,
        comm_s,
        outside_s,
        overlap,
    )
