"""The output of readers (`Jobs`), and a checked and sorted trace (`Trace`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from motet.sim.workload.elastic_work import WorkModels
from motet.sim.workload.interventions import Interventions
from motet.sim.workload.workload import Workload

MORE_COLUMNS = (
    "num_cpus",
    "num_nodes",
    "batch_size",
    "iterations",
    "priority",
    "state",
    "start_time",
    "end_time",
)
"""Columns of a motet CSV that are kept as text; policies read only `num_cpus`."""

TRACE_COLUMNS = (
    "job_id",
    "submit_time",
    "num_gpus",
    "duration",
    "user",
    "queue",
    "experiment",
    "model",
    "memory_gb",
    *MORE_COLUMNS,
)
"""Columns of a motet CSV that other logs may have under other names."""


CUT_STATES = frozenset(
    (
        *("CANCELLED", "CANCELED", "KILLED", "TIMEOUT", "DEADLINE", "PREEMPTED", "REQUEUED"),
        *("NODE_FAIL", "BOOT_FAIL", "OUT_OF_MEMORY", "REVOKED", "DEACTIVATED", "EVICTED"),
        *("RUNNING", "SUSPENDED", "PENDING", "COMPLETING", "RESIZING"),
    )
)
"""States of jobs that were stopped or had not ended: they needed more time than they ran."""


@dataclass(frozen=True)
class Jobs:
    """Columns of a file, a row per job, including bad rows (with numbers 0).

    `lines`: the line of each row, from 1. `text`: `user`, `queue`, `experiment`, `model` and
    `MORE_COLUMNS`, if the format has them. `notices`: omissions and assumptions of the reader.
    `work`: of elastic jobs. `cpus`, `memory_bytes`: of the full request, 0 for no requirement;
    empty if the format lacks them. `interventions`: of users. `sha256`: of the file with those that
    it names; None: of the file alone. `zero`: the date of time 0; None if the log has no dates.
    """

    lines: Sequence[int]
    ids: Sequence[str]
    submit_us: Sequence[int]
    duration_us: Sequence[int]
    gpus: Sequence[int]
    text: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    work: WorkModels | None = None
    cpus: Sequence[int] = ()
    memory_bytes: Sequence[int] = ()
    sha256: str | None = None
    interventions: Interventions | None = None
    zero: datetime | None = None

    def __len__(self) -> int:
        return len(self.lines)


@dataclass(frozen=True, eq=False)
class Trace:
    """Jobs ready to replay, and their origin.

    `sha256`: of the file's bytes on disk and of the loss curve files that it names. `notices`: one
    line each for the user. `skipped`: skipped bad rows, by reason. `more`: `MORE_COLUMNS` of the
    file, as text, in the workload's order. `zero`: the date of time 0; None if the log has no
    dates.
    """

    workload: Workload
    format: str
    sha256: str
    notices: tuple[str, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)
    more: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    zero: datetime | None = None

    def __repr__(self) -> str:
        return f"<Trace: {len(self.workload):,} jobs, {self.format}, sha256 {self.sha256[:12]}>"
