"""Checks for trace rows that cannot be replayed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motet.domain.units import NEVER_US, seconds
from motet.sim.traces.problems import (
    DUPLICATE_ID,
    NEGATIVE_DURATION,
    NEGATIVE_GPUS,
    NEGATIVE_SUBMIT,
    NO_GPUS,
    NO_ID,
    TOO_LARGE,
    TOO_MANY_GPUS,
    Problems,
)
from motet.sim.traces.trace import Jobs
from motet.sim.workload.elastic_work import FULL_REQUEST_MUST_FIT


def check(jobs: Jobs, problems: Problems, largest_gang: int | None) -> None:
    """Add every invalid row to `problems`; `largest_gang`: the most GPUs that a job can get."""
    submit_us, duration_us = np.array(jobs.submit_us), np.array(jobs.duration_us)
    gpus = np.array(jobs.gpus)
    for row in np.flatnonzero(duration_us < 0):
        message = f"duration is {seconds(duration_us[row]):g} s, it must be at least 0"
        problems.add(int(row), NEGATIVE_DURATION, message)
    for row in np.flatnonzero(submit_us < 0):
        message = f"submit time is {seconds(submit_us[row]):g} s, a trace's clock starts at 0"
        problems.add(int(row), NEGATIVE_SUBMIT, message)
    for row in np.flatnonzero(gpus < 1):
        message = f"the job requests {gpus[row]} GPUs, it must be at least 1"
        problems.add(int(row), NEGATIVE_GPUS if gpus[row] < 0 else NO_GPUS, message)
    if largest_gang is not None:
        for row in np.flatnonzero(gpus > largest_gang):
            message = f"the job requests {gpus[row]} GPUs, the cluster has {largest_gang}"
            if jobs.work is not None and jobs.work.is_modelled[row]:
                message += f"; {FULL_REQUEST_MUST_FIT}"
            problems.add(int(row), TOO_MANY_GPUS, message)
    for row in np.flatnonzero(gpus * duration_us.astype(float) >= NEVER_US):
        message = f"{gpus[row]} GPUs for {seconds(duration_us[row]):g} s are too much to count"
        problems.add(int(row), TOO_LARGE, message)
    _check_demands(jobs, gpus, problems)
    _check_ids(jobs, problems)


def _check_demands(jobs: Jobs, gpus: NDArray[np.int64], problems: Problems) -> None:
    for unit, demands in (("CPUs", jobs.cpus), ("bytes", jobs.memory_bytes)):
        if not demands:
            continue
        for row in np.flatnonzero(gpus * np.array(demands, dtype=float) >= NEVER_US).tolist():
            message = f"{demands[row]} {unit} on {gpus[row]} GPUs are too much to count"
            problems.add(row, TOO_LARGE, message)


def _check_ids(jobs: Jobs, problems: Problems) -> None:
    if len(set(jobs.ids)) == len(jobs) and "" not in jobs.ids:
        return
    first_line: dict[str, int] = {}
    for row, (job, line) in enumerate(zip(jobs.ids, jobs.lines, strict=True)):
        if row in problems:
            continue
        if not job:
            problems.add(row, NO_ID, "the job has no id")
        elif job in first_line:
            message = f"job id {job!r} is already used in line {first_line[job]}"
            problems.add(row, DUPLICATE_ID, message)
        else:
            first_line[job] = line
