"""All that an engine knows at one moment, so that another driver can go on from there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from motet.domain.arrays import Ints
from motet.domain.snapshot import Placement
from motet.engine.history import FinishedJobs
from motet.engine.machine_monitor import MachineMonitor
from motet.engine.measurements import Measurements


@dataclass(frozen=True, eq=False)
class CapturedState:
    """Of a `ClusterState`.

    `columns`: of the active jobs, by name, those of the policy and of the driver included.
    `suspended`: all columns of every suspended job. `closed_machines`: that take no jobs. The flags
    are those of `ClusterState`.
    """

    now_us: int
    columns: Mapping[str, Ints]
    placements: Mapping[int, Placement]
    suspended: Mapping[int, Mapping[str, int]]
    finished: FinishedJobs
    closed_machines: tuple[int, ...]
    has_shared: bool
    has_elastic: bool
    has_demands: bool


@dataclass(frozen=True, eq=False)
class CapturedEngine:
    """Of an `Engine` all of whose actions have been carried out. `recheck_at_us`: when the policy
    asked to decide again."""

    state: CapturedState
    recheck_at_us: int
    measurements: Measurements | None
    monitor: MachineMonitor | None
