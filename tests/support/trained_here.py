"""Jobs on executors of this process: what a run on Ray must equal, without its start."""

from __future__ import annotations

from typing import Any

from in_process_cluster import InProcessCluster
from motet.apps import load_application
from motet.datasets import open_dataset
from motet.runtime.controller.job import Job
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.reports import TrainResult


def trained_here(
    app_name: str, data: str, epochs: int, roles: tuple[int, int], seed: int = 0, **parameters: Any
) -> TrainResult:
    """`motet train APP --data DATA` with as many workers and servers as `roles` says."""
    workers, servers = roles
    machines = max(roles)
    app = load_application(app_name)(**parameters)
    rows = app.prepare(open_dataset(data), seed)
    options = TrainOptions(
        machines, workers=workers, servers=servers, epochs=epochs, tol=app.tol, seed=seed
    )
    return Job(app, rows, options, InProcessCluster(machines)).run()
