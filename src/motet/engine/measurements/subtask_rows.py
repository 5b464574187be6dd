"""Measured COMP and COMM of jobs, as columns of `Estimates`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from motet.domain.arrays import Floats
from motet.domain.estimates import SubtaskEstimates
from motet.domain.events import DataSizes
from motet.estimate.colocation.subtask_profile import SubtaskProfile

_NAN = float("nan")


@dataclass
class MeasuredSubtasks:
    """Of one job; `profile`: None before the first measurement.

    `memory_bytes`: by number of machines, the latest measurement on all of them together, as if
    each needed as much as the one that needs most.
    """

    data: DataSizes
    profile: SubtaskProfile | None = None
    memory_bytes: dict[int, int] = field(default_factory=dict)

    def add(
        self, machines: int, comp_s: float, comm_s: float, memory_bytes: int | None = None
    ) -> None:
        """Record an iteration. Raises BadInput for times without meaning."""
        if memory_bytes is not None:
            self.memory_bytes[machines] = machines * memory_bytes
        if self.profile is None:
            self.profile = SubtaskProfile.of(machines, comp_s, comm_s)
        else:
            self.profile = self.profile.measured(machines, comp_s, comm_s)

    @property
    def columns(self) -> tuple[float, ...]:
        """The job's row of `SubtaskEstimates`."""
        sizes = float(self.data.input_bytes), float(self.data.model_bytes)
        if self.memory_bytes:
            sizes = 0.0, float(max(self.memory_bytes.values()))
        if self.profile is None:
            return (*sizes, _NAN, _NAN, _NAN)
        return (*sizes, *self.profile.comp, self.profile.comm_s)


_UNREPORTED = (_NAN,) * 5


def subtask_estimates(rows: Sequence[MeasuredSubtasks | None]) -> SubtaskEstimates:
    """A row for each; None: a job that reports no COMP and COMM."""
    values = [_UNREPORTED if row is None else row.columns for row in rows]
    table: Floats = np.array(values, dtype=np.float64).reshape(-1, len(_UNREPORTED))
    columns = [np.ascontiguousarray(column) for column in table.T]
    for column in columns:
        column.flags.writeable = False
    return SubtaskEstimates(*columns)
