"""Jobs with COMP and COMM times for tests."""

from __future__ import annotations

from typing import NamedTuple

from motet.domain.estimates import Overlap
from motet.domain.units import SECOND_US
from motet.sim.workload.elastic_work import WorkModels
from motet.sim.workload.subtask_work import SubtaskWork
from motet.sim.workload.workload import Workload


class SubtaskRow(NamedTuple):
    """`comp_s`: with one worker; None: an elastic job without these times."""

    submit_s: int
    steps: int
    comp_s: float | None
    comm_s: float
    input_bytes: int = 0
    model_bytes: int = 0
    workers: int = 1
    most_workers: int = 1_000
    overlap: Overlap = Overlap.NEVER
    async_efficiency: float = 1.0


def subtask_workload(rows: list[SubtaskRow], order: list[int] | None = None) -> Workload:
    """Jobs "j0", "j1", ..., given in `order`."""
    order = list(range(len(rows))) if order is None else order
    rows = [rows[number] for number in order]
    subtasks = SubtaskWork.of(
        [float("nan") if row.comp_s is None else row.comp_s for row in rows],
        [row.comm_s for row in rows],
        [row.input_bytes for row in rows],
        [row.model_bytes for row in rows],
        [row.overlap for row in rows],
        [row.async_efficiency for row in rows],
    )
    work = WorkModels.of(
        [row.steps for row in rows],
        2,
        (1.0, 0.0, 0.0, 0.0, 0.0, 1.0),
        workers=[row.workers for row in rows],
        max_workers=[row.most_workers for row in rows],
        subtasks=subtasks,
    )
    submit_us = [row.submit_s * SECOND_US for row in rows]
    return Workload.of([f"j{number}" for number in order], submit_us, 0, 0, work=work)
