"""The files that `motet aggregator simulate --out DIR` writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from motet.domain.arrays import Floats
from motet.domain.units import HOUR_US, SECOND_US, exact_seconds
from motet.interfaces.cli.aggregator.simulation_screen import SimulatedPool
from motet.interfaces.cli.shell.row_formats import csv_lines
from motet.report.aggregation.pool_figure import PoolColumns, save_pool_figure
from motet.report.rendering.csv_cells import inert_cell
from motet.report.rendering.folder import Folder
from motet.sim.aggregation.history import ServiceHistory
from motet.sim.aggregation.models import MODELS

SUMMARY, STEPS, JOBS, PICTURE = "summary.json", "pool.csv", "jobs.csv", "pool.png"
_STEP_COLUMNS = (
    *("time_s", "jobs", "servers", "aggregators", "of_one_job"),
    *("mean_predicted_loss", "largest_predicted_loss"),
)
_JOB_COLUMNS = (
    *("job_id", "model", "gpus", "servers", "tensors", "iteration_s", "cpu_s_per_iteration"),
    *("start_s", "end_s", "mean_predicted_loss", "largest_predicted_loss"),
)
_MOST_DRAWN = 4_000
"""Steps; a longer run is drawn as means of hours."""


def write_simulation(folder: Folder, shown: SimulatedPool, document: dict[str, Any]) -> None:
    """Write all files. Raises JobFailed if that fails."""
    folder.write_json(SUMMARY, document)
    folder.write_text(STEPS, csv_lines([_STEP_COLUMNS, *_step_rows(shown.history)]))
    folder.write_text(JOBS, csv_lines([_JOB_COLUMNS, *_job_rows(shown.history)]))
    columns = pool_columns(shown)
    folder.write(PICTURE, lambda path: save_pool_figure(columns, path))


def pool_columns(shown: SimulatedPool) -> PoolColumns:
    """The input of the figure."""
    history = shown.history
    parts: list[Floats] = [
        history.servers.astype(np.float64),
        history.aggregators.astype(np.float64),
        history.mean_loss,
        history.largest_loss,
    ]
    at_us, unit = history.at_us, ""
    if len(at_us) > _MOST_DRAWN:
        at_us = np.arange(at_us[0], at_us[-1] + HOUR_US, HOUR_US)
        means = [history.over_time(column, at_us) for column in parts]
        parts, unit = [np.append(mean, mean[-1:]) for mean in means], "; means of hours"
    servers, aggregators, mean_loss, largest_loss = parts
    return PoolColumns(
        shown.heading,
        f"{shown.summary.saved:.1%} of the CPU time saved{unit}",
        (at_us - at_us[0]) / SECOND_US,
        servers,
        aggregators,
        mean_loss,
        largest_loss,
        history.minute_ratios(),
        shown.loss_limit,
    )


def _step_rows(history: ServiceHistory) -> Iterator[tuple[object, ...]]:
    columns = (
        [exact_seconds(int(at_us)) for at_us in history.at_us],
        history.running.tolist(),
        history.servers.tolist(),
        history.aggregators.tolist(),
        history.own.tolist(),
        [f"{lost:.6g}" for lost in history.mean_loss],
        [f"{lost:.6g}" for lost in history.largest_loss],
    )
    yield from zip(*columns, strict=True)


def _job_rows(history: ServiceHistory) -> Iterator[tuple[object, ...]]:
    jobs = history.jobs
    for place, (job, profile) in enumerate(zip(jobs.ids, jobs.profiles, strict=True)):
        yield (
            inert_cell(job),
            MODELS[jobs.model[place]].name,
            int(jobs.gpus[place]),
            profile.servers,
            profile.tensors,
            profile.iteration_ns / 1e9,
            profile.work_ns / 1e9,
            exact_seconds(int(jobs.arrives_us[place])),
            exact_seconds(int(jobs.ends_us[place])),
            f"{history.job_loss[place]:.6g}",
            f"{history.job_largest_loss[place]:.6g}",
        )
