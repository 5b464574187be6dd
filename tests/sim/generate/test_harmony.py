"""The workload of Harmony's evaluation."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from motet.domain.errors import BadInput
from motet.sim.generate import draw, parse_recipe
from motet.sim.generate.harmony import (
    COMPUTING_SHARE,
    MEAN_ITERATION_S,
    MEAN_LENGTH_S,
    ProfiledJob,
    profiled_jobs,
)
from motet.sim.generate.named import drawn_trace
from motet.sim.traces.writing import motet_csv
from motet.sim.workload.workload import Workload

APPS = ("nmf", "lda", "mlr", "lasso")


def of_app(app: str) -> list[ProfiledJob]:
    return [job for job in profiled_jobs() if job.app == app]


def ratios(jobs: Workload) -> list[float]:
    assert jobs.work is not None
    assert jobs.work.subtasks is not None
    return sorted((jobs.work.subtasks.comp_s / jobs.work.subtasks.comm_s).tolist())


def test_there_are_ten_jobs_of_both_data_sets_of_four_applications() -> None:
    kinds = Counter(job.name.split(" ")[0] for job in profiled_jobs())
    assert kinds == {f"{app}-{number}": 10 for app in APPS for number in (1, 2)}


@pytest.mark.parametrize("app", APPS)
def test_jobs_of_an_application_have_the_means_that_are_stated(app: str) -> None:
    jobs = of_app(app)
    assert np.mean([job.computing_share for job in jobs]) == pytest.approx(COMPUTING_SHARE, 1e-3)
    assert np.mean([job.alone_s for job in jobs]) == pytest.approx(MEAN_ITERATION_S, 1e-3)
    lengths_s = [job.alone_s * job.iterations for job in jobs]
    assert np.mean(lengths_s) == pytest.approx(MEAN_LENGTH_S, 0.03)
    assert max(lengths_s) < 2 * MEAN_LENGTH_S


def test_the_60_jobs_are_those_with_most_comp_or_most_comm() -> None:
    everything = ratios(drawn_trace("harmony-80", 0).workload)
    assert ratios(drawn_trace("harmony-60-comp", 1).workload) == everything[20:]
    assert ratios(drawn_trace("harmony-60-comm", 1).workload) == everything[:60]


def test_a_seed_draws_the_order_and_the_arrivals_and_not_the_jobs() -> None:
    one, other = (drawn_trace("harmony-80", seed).workload for seed in (1, 2))
    assert one.submit_us.max() == 0
    assert ratios(one) == ratios(other)
    assert motet_csv(one) != motet_csv(other)
    recipe = parse_recipe("harmony-80", 100, "poisson:240", None)
    drawn = draw(recipe, np.random.default_rng(3))
    assert len(drawn) == 100
    assert drawn.submit_us.max() > 0
    with pytest.raises(BadInput, match="those of harmony-80 follow from steps and speeds"):
        parse_recipe("harmony-80", None, None, "bins")
