"""A summary says the same as its report, in a size that does not depend on the jobs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.units import SECOND_US
from motet.interfaces.forecasts.replay.what_if_summary import (
    MOST_JOBS,
    MOST_POINTS,
    SHARES,
    what_if_summary,
)
from motet.sim.metrics.summary import Distribution

seconds = st.floats(0, 1e7)
times = st.lists(
    st.tuples(st.none() | seconds, seconds, st.none() | seconds), min_size=1, max_size=400
)


def report_of(rows: list[tuple[float | None, float, float | None]]) -> dict[str, Any]:
    names = ("measured_jct_s", "in_force_jct_s", "jct_s")
    jobs = [{"id": str(n), **dict(zip(names, row, strict=True))} for n, row in enumerate(rows, 1)]
    return {"jobs": len(rows), "runs": ["as they are"], "job_list": jobs}


@given(times)
def test_a_curve_is_the_share_of_jobs_that_had_completed(rows: Any) -> None:
    summary = what_if_summary(report_of(rows))
    compared = [row for row in rows if row[0] is not None]
    for column, curve in enumerate(summary["curves"]):
        ended = [row[column] for row in compared if row[column] is not None]
        assert len(curve["x"]) == len(curve["y"]) <= MOST_POINTS
        assert curve["x"] == sorted(curve["x"])
        for at_s, share in zip(curve["x"], curve["y"], strict=True):
            assert share == sum(each <= at_s for each in ended) / len(compared)
        if ended:
            assert curve["y"][-1] == len(ended) / len(compared)


@given(times)
def test_a_percentile_is_that_of_the_figures_of_a_run(rows: Any) -> None:
    """As far as the jobs with the longest times that it needs have ended."""
    compared = [row for row in rows if row[0] is not None]
    for column, curve in enumerate(what_if_summary(report_of(rows))["curves"]):
        ended = [row[column] for row in compared if row[column] is not None]
        never = [1e12] * (len(compared) - len(ended))
        for share, at_s in zip(SHARES, curve["quantiles"], strict=True):
            needed = math.ceil(share * (len(compared) - 1) - 1e-9) + 1
            assert (at_s is None) == (len(ended) < needed or not ended)
            if at_s is not None:
                assert at_s == pytest.approx(np.quantile([*ended, *never], share), abs=1e-6)
        if ended and not never:
            times_us = np.array([round(each * SECOND_US) for each in ended])
            figures = Distribution.of(times_us)
            told = dict(zip(SHARES, curve["quantiles"], strict=True))
            assert (told[0.5], told[0.95]) == pytest.approx((figures.median, figures.p95), abs=1e-6)


@given(times)
def test_jobs_that_move_most_come_first(rows: Any) -> None:
    summary = what_if_summary(report_of(rows))
    for name, sign in (("later", 1), ("sooner", -1)):
        changes = [sign * job["change_s"] for job in summary[name]]
        assert changes == sorted(changes, reverse=True)
        assert all(each > 0 for each in changes)
        assert len(changes) == min(summary[f"jobs_{name}"], MOST_JOBS)
    assert "job_list" not in summary
    assert summary["runs"] == ["as they are"]


def test_jobs_that_move_by_less_than_a_hundredth_stay() -> None:
    summary = what_if_summary(report_of([(100.0, 100.0, 100.9), (100.0, 100.0, 99.1)]))
    assert (summary["jobs_later"], summary["jobs_sooner"]) == (0, 0)
