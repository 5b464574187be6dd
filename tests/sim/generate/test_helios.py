"""A year of a large cluster, in the shape that was published of Helios."""

from __future__ import annotations

import numpy as np
import pytest

from motet.sim.generate import draw, parse_recipe
from motet.sim.workload.workload import Workload

DAY_S, YEAR_S = 86_400, 31.5e6


def year(jobs: int = 50_000) -> Workload:
    return draw(parse_recipe("helios-year", jobs, None, None), np.random.default_rng(1))


def test_run_times_and_sizes_are_those_that_were_published() -> None:
    jobs = year()
    seconds = jobs.duration_us / 1e6
    assert np.median(seconds) == pytest.approx(206, rel=0.05)
    assert seconds.mean() == pytest.approx(6_652, rel=0.12)
    assert seconds.max() <= 50 * DAY_S
    assert jobs.gpus.mean() == pytest.approx(3.72, rel=0.02)
    assert (jobs.gpus == 1).mean() == pytest.approx(0.6, abs=0.001)


def test_a_million_jobs_come_in_a_year_and_nothing_is_known_of_their_models() -> None:
    jobs = year()
    assert jobs.submit_us[-1] / 1e6 * 1_000_000 / len(jobs) == pytest.approx(YEAR_S, rel=0.02)
    assert (jobs.model == -1).all()


def test_the_number_of_jobs_and_their_run_times_can_be_others() -> None:
    recipe = parse_recipe("helios-year", 40, "every:10", "lognormal:60,2,90")
    jobs = draw(recipe, np.random.default_rng(1))
    assert len(jobs) == 40
    assert jobs.duration_us.max() == 90_000_000
