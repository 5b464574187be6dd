"""A copy of a cluster's state, from which another engine can continue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from motet.domain.arrays import Ints
from motet.domain.snapshot import Placement
from motet.engine.state.history import FinishedJobs


@dataclass(frozen=True, eq=False)
class CapturedState:
    """Contents of a `ClusterState`.

    `columns`: of the active jobs, by name, including those of the policy and of the driver.
    `suspended`: all columns of every suspended job. `closed_machines`: machines that take no jobs.
    The flags are those of `ClusterState`.
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
