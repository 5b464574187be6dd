"""COMP and COMM times of jobs that may share machines, and the bytes of their data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from motet.domain.arrays import Bools, Floats, Ints
from motet.domain.estimates import Overlap
from motet.estimate.colocation.group_time import SubtaskTimes

SHORTEST_COMP_S, LONGEST_SUBTASK_S = 1e-6, 1e9


@dataclass(frozen=True, eq=False)
class SubtaskWork:
    """A row per job of a workload, `(jobs,)` columns.

    `comp_s`: seconds of COMP in an iteration with one worker, which has a machine of its own; NaN
    for a job without these times. `comm_s`: seconds of COMM (PULL and PUSH) with any number of
    workers. `input_bytes`, `model_bytes`: of the input, and of the model with working memory, on
    all machines together. `overlap`: an `Overlap`. `async_efficiency`: of a job that a policy runs
    asynchronously, how much of an iteration without that one of its iterations is worth, above 0.
    """

    comp_s: Floats
    comm_s: Floats
    input_bytes: Ints
    model_bytes: Ints
    overlap: Ints
    async_efficiency: Floats

    @classmethod
    def of(
        cls,
        comp_s: Any,
        comm_s: Any,
        input_bytes: Any = 0,
        model_bytes: Any = 0,
        overlap: Any = Overlap.NEVER,
        async_efficiency: Any = 1.0,
    ) -> SubtaskWork:
        """From columns; scalars apply to every job."""
        comp = np.atleast_1d(np.asarray(comp_s, dtype=np.float64))
        return cls(
            comp,
            np.broadcast_to(np.asarray(comm_s, np.float64), comp.shape).copy(),
            np.broadcast_to(np.asarray(input_bytes, np.int64), comp.shape).copy(),
            np.broadcast_to(np.asarray(model_bytes, np.int64), comp.shape).copy(),
            np.broadcast_to(np.asarray(overlap, np.int64), comp.shape).copy(),
            np.broadcast_to(np.asarray(async_efficiency, np.float64), comp.shape).copy(),
        )

    def __len__(self) -> int:
        return len(self.comp_s)

    @property
    def is_known(self) -> Bools:
        """Which jobs have these times."""
        return ~np.isnan(self.comp_s)

    def take(self, rows: Any) -> Self:
        """These rows, in this order."""
        columns = (getattr(self, each.name) for each in fields(self))
        return type(self)(*(column[rows] for column in columns))

    def times(self, job: int, workers: int) -> SubtaskTimes:
        """COMP and COMM seconds of an iteration with this many workers."""
        overlaps = bool(self.overlap[job] == Overlap.ALWAYS)
        comp_s, comm_s = float(self.comp_s[job]) / workers, float(self.comm_s[job])
        return SubtaskTimes(comp_s, comm_s, overlaps=overlaps)

    def complaints(self) -> Iterator[tuple[int, str]]:
        """Invalid jobs with the first reason for each."""
        for job in np.flatnonzero(self.is_known).tolist():
            comp_s, comm_s = float(self.comp_s[job]), float(self.comm_s[job])
            if not SHORTEST_COMP_S <= comp_s <= LONGEST_SUBTASK_S:
                limits = f"{SHORTEST_COMP_S:g} and {LONGEST_SUBTASK_S:g}"
                yield job, f"comp_s is {comp_s:g}, it must be within {limits}"
            elif not 0 <= comm_s <= LONGEST_SUBTASK_S:
                yield job, f"comm_s is {comm_s:g}, it must be within 0 and {LONGEST_SUBTASK_S:g}"
            elif self.input_bytes[job] < 0 or self.model_bytes[job] < 0:
                yield job, "the bytes of its input or model are below 0"
            elif not 0 < self.async_efficiency[job] <= 1:
                efficiency = float(self.async_efficiency[job])
                yield job, f"async_efficiency is {efficiency:g}, it must be above 0, at most 1"
