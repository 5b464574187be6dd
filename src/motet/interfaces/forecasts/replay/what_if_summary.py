"""The summary of a what-if report: its figures, curves and the jobs that move most. Pure.

Its size does not depend on the number of jobs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np

from motet.domain.arrays import Floats
from motet.insight.replay_words import moved_jobs
from motet.sim.metrics.summary import percentiles

MOST_JOBS = 50
"""Of those that end later, and of those that end sooner."""
MOST_POINTS = 160
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)
"""Of which the completion times are given as numbers."""
_TIMES = ("measured_jct_s", "in_force_jct_s", "jct_s")
_LEAST_S = 1e-3


def what_if_summary(report: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the report without `job_list`, and: `jobs_later`, `jobs_sooner`, `later` and
    `sooner`: jobs with `change_s`, the largest changes first; `curves`: for every run `x`
    (completion time) and `y` (share of the compared jobs that had ended by then), and `quantiles`
    (percentiles of their completion times, for SHARES)."""
    jobs = report["job_list"]
    moved = moved_jobs(jobs)
    later = [{**job, "change_s": change_s} for change_s, job in moved if change_s > 0]
    sooner = [{**job, "change_s": change_s} for change_s, job in moved if change_s < 0]
    compared = [job for job in jobs if job["measured_jct_s"] is not None]
    return {
        **{name: value for name, value in report.items() if name != "job_list"},
        "jobs_later": len(later),
        "jobs_sooner": len(sooner),
        "later": later[:MOST_JOBS],
        "sooner": sooner[:MOST_JOBS],
        "curves": [_curve([job[name] for job in compared]) for name in _TIMES],
    }


def _curve(times_s: Sequence[float | None]) -> dict[str, Any]:
    """The distribution of completion times; None: of a job that did not end."""
    ended = np.sort(np.array([each for each in times_s if each is not None], np.float64))
    if not len(ended):
        return {"x": [], "y": [], "quantiles": [None] * len(SHARES)}
    x = _grid(ended)
    y = np.searchsorted(ended, x, side="right") / len(times_s)
    return {"x": x.tolist(), "y": y.tolist(), "quantiles": _quantiles(ended, len(times_s))}


def _grid(ended: Floats) -> Floats:
    """Times at which the curve rises: all, or as many as may be, at even steps of the logarithm."""
    rises = np.unique(np.maximum(ended, _LEAST_S))
    if len(rises) <= MOST_POINTS:
        return rises
    grid = np.geomspace(rises[0], rises[-1], MOST_POINTS)
    grid[-1] = rises[-1]
    return grid


def _quantiles(ended: Floats, count: int) -> list[float | None]:
    """As in the figures of runs; None: so many jobs have not ended."""
    found = percentiles(ended, SHARES, count).tolist()
    return [each if isfinite(each) else None for each in found]
