"""Elastic jobs for tests: drawn by Hypothesis, or the simplest ones."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

from motet.domain.units import SECOND_US
from motet.estimate.speed_function import SpeedMode
from motet.sim.curves import bundled_curve
from motet.sim.workload.elastic_work import WorkModels
from motet.sim.workload.interventions import Interventions
from motet.sim.workload.workload import Workload

LINEAR = (1.0, 0.0, 0.0, 0.0, 0.0, 1.0)
"""A worker makes a step per second, n workers n times as many."""


class Row(NamedTuple):
    """`steps` 0: a rigid job of `duration_s` on `workers` GPUs."""

    submit_s: int
    steps: int
    workers: int
    most_workers: int
    servers: int = 0
    most_servers: int = 0
    server_gpus: int = 0
    mode: int = int(SpeedMode.SYNC)
    speed: tuple[float, ...] = LINEAR
    duration_s: int = 1

    @property
    def gpus(self) -> int:
        return self.workers + self.servers * self.server_gpus


def linear(submit_s: int, steps: int, workers: int, most_workers: int | None = None) -> Row:
    """Elastic from one worker on."""
    return Row(submit_s, steps, workers, most_workers or workers)


def elastic_workload(
    rows: list[Row], order: list[int] | None = None, interventions: Interventions | None = None
) -> Workload:
    """Jobs "j0", "j1", ..., given in `order`."""
    order = list(range(len(rows))) if order is None else order
    rows = [rows[number] for number in order]
    is_elastic = [row.steps > 0 for row in rows]

    def column(name: str) -> list[Any]:
        return [getattr(row, name) for row in rows]

    work = WorkModels.of(
        column("steps"),
        column("mode"),
        column("speed"),
        curves=[bundled_curve("svm-sgd-a9a") if steps else None for steps in column("steps")],
        workers=column("workers"),
        min_workers=[1 if it else row.workers for it, row in zip(is_elastic, rows, strict=True)],
        max_workers=column("most_workers"),
        servers=column("servers"),
        min_servers=[min(row.servers, 1) for row in rows],
        max_servers=column("most_servers"),
        server_gpus=column("server_gpus"),
    )
    return Workload.of(
        [f"j{number}" for number in order],
        [row.submit_s * SECOND_US for row in rows],
        [row.duration_s * SECOND_US for row in rows],
        column("gpus"),
        work=work,
        interventions=interventions,
    )


def rows_on(gpus: int, most: int = 10) -> st.SearchStrategy[list[Row]]:
    """Up to `most` jobs, elastic and rigid, with and without servers, none wider than `gpus`."""
    return st.lists(_rows(gpus), min_size=1, max_size=most)


@st.composite
def _rows(draw: Any, gpus: int) -> Row:
    submit_s = draw(st.integers(0, 30))
    if draw(st.booleans()):
        return Row(submit_s, 0, width := draw(st.integers(1, gpus)), width, duration_s=width * 3)
    server_gpus = draw(st.sampled_from([0, 1]))
    servers = draw(st.integers(0, gpus // 2))
    workers = draw(st.integers(1, gpus - servers * server_gpus))
    speed = draw(st.tuples(*[st.floats(0.001, 2.0)] * 5, st.integers(1, 8)))
    return Row(
        submit_s,
        draw(st.integers(1, 60)),
        workers,
        draw(st.integers(workers, 2 * workers)),
        servers,
        draw(st.integers(servers, 2 * servers)),
        server_gpus,
        draw(st.sampled_from([int(SpeedMode.ASYNC), int(SpeedMode.SYNC)])),
        speed,
    )
