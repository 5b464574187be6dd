"""Twelve jobs of the 60-job trace on a real server: what the simulator says, at any load."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from attained_service import check_attained
from live_fidelity import (
    CLUSTER,
    MOST_ERROR,
    POLICIES,
    QUICK_SCALE,
    TRACE,
    run_live,
    scaled,
    simulated_jcts_s,
)
from motet.sim.workload.workload import Workload
from support.fidelity_run import LiveRun

pytestmark = [pytest.mark.soak, pytest.mark.cluster, pytest.mark.timeout(3600)]

JOBS: tuple[tuple[int, int, int], ...] = (
    *((0, 164, 1), (30, 147, 8), (53, 127, 2), (79, 121, 1)),
    *((99, 121, 4), (132, 138, 8), (176, 121, 1), (204, 124, 2)),
    *((227, 155, 2), (252, 126, 1), (282, 230, 1), (311, 368, 1)),
)
"""Submission and duration in seconds, and GPUs, of the first jobs of the trace."""
APART = 1.3
"""Policies whose order is compared: the simulated times differ by this factor."""


def workload() -> Workload:
    """As `scaled` reads it from the trace."""
    submit_s, duration_s, gpus = np.array(JOBS, dtype=np.int64).T
    times_us = [
        (each * 1_000_000 / QUICK_SCALE).astype(np.int64) for each in (submit_s, duration_s)
    ]
    return Workload.of([str(number) for number in range(len(JOBS))], *times_us, gpus)


def allowed_error(live: LiveRun) -> float:
    """On a loaded machine start-ups differ from the means that the simulator is told. Each delays
    its own job, and at worst one more that waits for its slots."""
    return MOST_ERROR + 2 * live.uneven_s / live.jct_s


def test_the_jobs_are_the_first_ones_of_the_trace(shared_data: Path) -> None:
    del shared_data
    own, traced = workload(), scaled(len(JOBS), QUICK_SCALE, 0)
    for column in ("submit_us", "duration_us", "gpus"):
        assert np.array_equal(getattr(own, column), getattr(traced, column)), TRACE


def test_the_live_cluster_does_what_the_simulator_says(tmp_path: Path) -> None:
    live_s, simulated_s = dict[str, float](), dict[str, float]()
    for policy in POLICIES:
        live = run_live(workload(), policy, tmp_path, ["--cluster", CLUSTER])
        live_s[policy], simulated_s[policy] = (
            live.jct_s,
            median(simulated_jcts_s(workload(), policy, live)),
        )
        error = abs(simulated_s[policy] / live.jct_s - 1)
        assert error <= allowed_error(live), (policy, live, simulated_s[policy])
        folder = tmp_path / policy
        assert LiveRun.of(folder, workload()) == live
        _, ran_s = check_attained(folder, str(folder / "journal.db"))
        assert ran_s >= float((workload().duration_us * workload().gpus).sum()) / 1e6
    for one, other in combinations(POLICIES, 2):
        worse, better = sorted((one, other), key=simulated_s.__getitem__, reverse=True)
        if simulated_s[worse] > APART * simulated_s[better]:
            assert live_s[worse] > live_s[better]
