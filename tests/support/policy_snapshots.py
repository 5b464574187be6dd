"""What a policy that requires estimates sees, made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from demands import column
from motet.domain.cluster import ClusterSpec
from motet.domain.estimates import Estimates, MachineSpeeds
from motet.domain.snapshot import UNKNOWN, JobTable, Placement, Queues, Snapshot
from motet.domain.units import SECOND_US
from motet.engine.state.history import FinishedJobs
from motet.engine.state.table import JOB_COLUMNS
from motet.estimate.speed_function import SpeedMode
from motet.policies.slaq import Slaq

NAN = float("nan")


def snapshot(
    cluster: ClusterSpec,
    size: int,
    *,
    now_s: int = 0,
    known: dict[str, Any] | None = None,
    memory: dict[str, Any] | None = None,
    places: dict[int, Placement] | None = None,
    times_as_long: list[float] | None = None,
    **columns: Any,
) -> Snapshot:
    """`size` jobs of one worker of one GPU, unless `columns` says otherwise; `known`: columns of
    the estimates. As many steps per second as workers. `times_as_long`: that computing takes on
    the machines, as measured now."""
    jobs = jobs_of(size, columns)
    held = places or {}
    free = cluster.gpus.copy()
    for place in held.values():
        free[list(place.machines)] -= place.counts
    remembered = Slaq.memory_columns if memory is None else memory
    return Snapshot(
        now_us=now_s * SECOND_US,
        jobs=jobs,
        cluster=cluster,
        gpu_count=cluster.gpu_count,
        free_gpus=free,
        placements=held,
        memory={name: column(size, values) for name, values in remembered.items()},
        history=FinishedJobs().history,
        queues=Queues(),
        estimates=_estimates(size, known or {}),
        machine_speeds=times_as_long and measured(times_as_long, now_s),
    )


def measured(times_as_long: list[float], *at_s: int) -> MachineSpeeds:
    """Of machines, all at one time or each at its own."""
    when = column(len(times_as_long), at_s if len(at_s) > 1 else at_s[0]) * SECOND_US
    return MachineSpeeds(np.array(times_as_long), when)


def jobs_of(size: int, columns: dict[str, Any]) -> JobTable:
    """Jobs of one GPU each, except for these columns."""
    usual = dict.fromkeys(JOB_COLUMNS, 0) | {
        "number": list(range(size)),
        **dict.fromkeys(
            ("gpus", "workers", "min_workers", "max_workers", "worker_gpus", "sharers"), 1
        ),
        **dict.fromkeys(("partner", "remaining_us", "model"), UNKNOWN),
    }
    return JobTable(**{name: column(size, value) for name, value in (usual | columns).items()})


def _estimates(size: int, known: dict[str, Any]) -> Estimates:
    names = ("steps_done", "loss", "first_loss", "largest_change", "target_loss", "planned_steps")
    usual: dict[str, Any] = dict.fromkeys((*names, "steps_left"), NAN)
    columns = {
        name: np.broadcast_to(np.array(value, dtype=np.float64), (size,)).copy()
        for name, value in (usual | known).items()
    }
    speed = np.tile([1.0, 0.0, 0.0, 0.0, 0.0, 1.0], (size, 1))
    mode = column(size, int(SpeedMode.ASYNC))
    return Estimates(**columns, forecasts=None, speed_mode=mode, speed=speed)
