"""What a simulation leaves behind: a row per job, and the cluster over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motet.domain.actions import Action
from motet.domain.arrays import Ints
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision
from motet.domain.snapshot import UNKNOWN
from motet.domain.wait import Wait
from motet.engine.state import ClusterState
from motet.sim.replay.placements import HoldRecorder, Holds
from motet.sim.replay.step_progress import StepProgress, TrainedSteps
from motet.sim.workload.workload import Workload

_COPIED = {
    "start_us": "first_start_us",
    "executed_us": "executed_us",
    "attained_gpu_us": "attained_gpu_us",
    "waiting_us": "waiting_us",
    "overhead_us": "overhead_us",
    "preemptions": "preemptions",
    "migrations": "migrations",
    "rescales": "rescales",
}
_COLUMNS_COPIED = tuple(_COPIED.values())


@dataclass(frozen=True, eq=False)
class Outcome:
    """`columns`: by name, `(jobs,)`, as they were when the job or the simulation ended.

    `end_us` and `start_us` are UNKNOWN for jobs that never finished or started. `waited_us[code]`:
    time that each job waited for that reason. `times_us`, `used_gpus`, `waiting_jobs`: after every
    decision. `holds`: who held which machine's GPUs. `trained`: steps of elastic jobs.
    `together_gpus`: how many GPUs may share a machine; 0: it did not matter where jobs were.
    """

    workload: Workload
    cluster: ClusterSpec
    columns: dict[str, Ints]
    waited_us: Ints
    times_us: Ints
    used_gpus: Ints
    waiting_jobs: Ints
    decision_count: int
    holds: Holds
    trained: TrainedSteps
    together_gpus: int = 0

    @property
    def is_finished(self) -> NDArray[np.bool_]:
        """Which jobs finished."""
        done: NDArray[np.bool_] = self.columns["end_us"] != UNKNOWN
        return done

    @property
    def jct_us(self) -> Ints:
        """Submission to completion of the jobs that finished."""
        done = self.is_finished
        return (self.columns["end_us"] - self.workload.submit_us)[done]


class Recorder:
    """Collects an `Outcome` while a simulation runs."""

    def __init__(self, workload: Workload, cluster: ClusterSpec, together_gpus: int = 0) -> None:
        self._workload, self._cluster, self._together = workload, cluster, together_gpus
        jobs, names = len(workload), ("end_us", "promotions", *_COPIED)
        columns = np.full((len(names), jobs), UNKNOWN, dtype=np.int64)
        self._columns = dict(zip(names, columns, strict=True))
        self._copied = columns[-len(_COPIED) :]
        self._waited_us = np.zeros((len(Wait), jobs), dtype=np.int64)
        self._series: list[tuple[int, int, int]] = []
        self._waits = tuple(f"waited_{code.key}_us" for code in Wait)
        self._holds = HoldRecorder(len(workload))

    def finished(self, number: int, state: ClusterState) -> None:
        """A job is about to leave."""
        self._columns["end_us"][number] = state.now_us
        self._copy(number, state)
        self._holds.ended(number, state.now_us)

    def decided(self, state: ClusterState, decision: Decision, actions: Sequence[Action]) -> None:
        """A decision holds from now on."""
        self._holds.decided(state, actions)
        used = decision.used_gpus
        waiting = len(decision.gpus) - int(np.count_nonzero(decision.gpus))
        self._series.append((state.now_us, used, waiting))

    def outcome(self, state: ClusterState, progress: StepProgress) -> Outcome:
        """Everything, and what became until now of the jobs that never finished."""
        for number in state.jobs.number.tolist():
            self._copy(number, state)
        series = np.array(self._series, dtype=np.int64).reshape(-1, 3)
        return Outcome(
            self._workload,
            self._cluster,
            self._columns,
            self._waited_us,
            series[:, 0],
            series[:, 1],
            series[:, 2],
            len(series),
            self._holds.holds(),
            progress.trained(),
            self._together,
        )

    def _copy(self, number: int, state: ClusterState) -> None:
        table = state.table
        self._copied[:, number] = table.of_job(number, _COLUMNS_COPIED)
        self._waited_us[:, number] = table.of_job(number, self._waits)
        has_queues = table.has("promotions")
        promotions = table.column("promotions")[table.row_of(number)] if has_queues else 0
        self._columns["promotions"][number] = promotions
