"""The outcome of a simulation: a row per job, and the cluster over time."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from motet.domain.actions import Action
from motet.domain.arrays import Bools, Ints
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision
from motet.domain.snapshot import UNKNOWN
from motet.domain.wait import Wait
from motet.engine.state.cluster_state import ClusterState
from motet.engine.state.engine_columns import WAITED_COLUMNS
from motet.sim.replay.placements import CapturedHolds, HoldRecorder, Holds
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
    "restarts": "restarts",
    "charged_us": "charged_us",
}
_COLUMNS_COPIED = (*_COPIED.values(), *WAITED_COLUMNS)
_NAMES = ("end_us", "cancel_us", "promotions", *_COPIED)
_END, _CANCEL, _PROMOTIONS, _FIRST_COPIED = range(4)
_INSTANTS = ("end_us", "cancel_us", "start_us")


@dataclass(frozen=True, eq=False)
class Outcome:
    """`columns`: by name, `(jobs,)`, as of the end of the job or of the simulation.

    `end_us`, `start_us` and `cancel_us` are UNKNOWN for jobs that never finished, started or were
    cancelled; counts and durations of jobs that never arrived are 0. `waited_us[code]`: time that
    each job waited for that reason. `times_us`, `used_gpus`, `waiting_jobs`: after every decision.
    `holds`: GPUs held by jobs on machines. `trained`: steps of elastic jobs. `is_suspended`:
    `(jobs,)`, at the end. `together_gpus`: maximum number of GPUs that share a machine; 0:
    placement did not affect speeds.
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
    is_suspended: Bools
    together_gpus: int = 0

    @property
    def is_finished(self) -> Bools:
        """Which jobs finished."""
        done: Bools = self.columns["end_us"] != UNKNOWN
        return done

    @property
    def jct_us(self) -> Ints:
        """Submission to completion of the jobs that finished."""
        done = self.is_finished
        return (self.columns["end_us"] - self.workload.submit_us)[done]


@dataclass(frozen=True, eq=False)
class CapturedRecord:
    """State of a `Recorder`: rows of jobs, rows of decisions, holds."""

    data: Ints
    series: array[int]
    holds: CapturedHolds


class Recorder:
    """Collects an `Outcome` while a simulation runs: a row per job, written when it ends."""

    def __init__(self, workload: Workload, cluster: ClusterSpec, together_gpus: int = 0) -> None:
        self._workload, self._cluster, self._together = workload, cluster, together_gpus
        self._gpu_count = cluster.gpu_count
        self._data: Ints = np.zeros((len(workload), len(_NAMES) + len(Wait)), dtype=np.int64)
        self._data[:, [_NAMES.index(name) for name in _INSTANTS]] = UNKNOWN
        self._series = array("q")
        self._holds = HoldRecorder(len(workload))

    def finished(self, number: int, state: ClusterState) -> None:
        """Record a completion, before the job leaves the state."""
        self._data[number, _END] = state.now_us
        self._copy(number, state)
        self._holds.ended(number, state.now_us)

    def cancelled(self, number: int, state: ClusterState) -> None:
        """Record a cancellation, before the job leaves the state."""
        self._data[number, _CANCEL] = state.now_us
        if number in state.suspended:
            self._keep(number, state.suspended[number])
        elif number in state.table:
            self._copy(number, state)

    def stopped(self, number: int, state: ClusterState) -> None:
        """Record that a job lost its GPUs without a decision."""
        self._holds.ended(number, state.now_us)

    def decided(self, state: ClusterState, decision: Decision, actions: Sequence[Action]) -> None:
        """Record a decision."""
        self._holds.decided(state, actions)
        waiting = len(decision.gpus) - len(state.placements)
        used_gpus = self._gpu_count - state.room.gpu_count
        self._series.extend((state.now_us, used_gpus, waiting))

    def outcome(self, state: ClusterState, progress: StepProgress) -> Outcome:
        """The outcome, with the current columns of jobs that never finished."""
        self._copy_all(state)
        for number, row in state.suspended.items():
            self._keep(number, row)
        is_suspended = np.zeros(len(self._workload), dtype=np.bool_)
        is_suspended[list(state.suspended)] = True
        series = np.array(self._series, dtype=np.int64).reshape(-1, 3)
        columns = np.ascontiguousarray(self._data.T)
        return Outcome(
            self._workload,
            self._cluster,
            dict(zip(_NAMES, columns, strict=False)),
            columns[len(_NAMES) :],
            series[:, 0],
            series[:, 1],
            series[:, 2],
            len(series),
            self._holds.holds(),
            progress.trained(),
            is_suspended,
            self._together,
        )

    def capture(self) -> CapturedRecord:
        """The data collected so far."""
        holds = self._holds.capture()
        return CapturedRecord(self._data.copy(), self._series[:], holds)

    def restore(self, captured: CapturedRecord) -> None:
        """Continue with these data."""
        self._data[:] = captured.data
        self._series = captured.series[:]
        self._holds.restore(captured.holds)

    def _copy(self, number: int, state: ClusterState) -> None:
        table, row = state.table, self._data[number]
        row[_FIRST_COPIED:] = table.of_job(number, _COLUMNS_COPIED)
        has_promotions = table.has("promotions")
        row[_PROMOTIONS] = table.column("promotions")[table.row_of(number)] if has_promotions else 0

    def _copy_all(self, state: ClusterState) -> None:
        """As `_copy`, for all active jobs."""
        table, numbers = state.table, state.jobs.number
        for place, name in enumerate(_COLUMNS_COPIED, _FIRST_COPIED):
            self._data[numbers, place] = table.column(name)
        has_promotions = table.has("promotions")
        self._data[numbers, _PROMOTIONS] = table.column("promotions") if has_promotions else 0

    def _keep(self, number: int, row: Mapping[str, int]) -> None:
        """As `_copy`, for a suspended job."""
        self._data[number, _FIRST_COPIED:] = [row[name] for name in _COLUMNS_COPIED]
        self._data[number, _PROMOTIONS] = row.get("promotions", 0)
