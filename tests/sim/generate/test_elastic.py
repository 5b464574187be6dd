"""Generated elastic workloads are as their recipes say."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from motet.domain.errors import BadInput
from motet.estimate.speed_function import SpeedMode
from motet.sim.curves import LossCurve, bundled_curve, bundled_names
from motet.sim.generate import draw, parse_recipe
from motet.sim.generate.arrivals import Poisson
from motet.sim.generate.elastic import SLAQ_CURVES, ElasticRecipe, SlaqJobs
from motet.sim.traces.writing import motet_csv
from motet.sim.workload.workload import Workload


def drawn(mix: str, seed: int = 0, jobs: int | None = None) -> Workload:
    return draw(parse_recipe(mix, jobs, None, None), np.random.default_rng(seed))


def test_slaqs_jobs_train_every_algorithm_equally_often() -> None:
    jobs = drawn("slaq-160")
    assert len(jobs) == 160
    assert jobs.work is not None
    names = Counter(jobs.work.curve_of(job).name for job in range(160))  # type: ignore[union-attr]
    assert names == dict.fromkeys(SLAQ_CURVES, 16)
    assert np.diff(jobs.submit_us).mean() / 1e6 == pytest.approx(15, rel=0.25)
    assert set(jobs.work.max_workers.tolist()) == {64}


def test_slaqs_jobs_can_have_other_curves() -> None:
    curves = (LossCurve("line", np.linspace(1, 0, 41)), LossCurve("step", np.array([1.0, 0.0])))
    recipe = ElasticRecipe(20, Poisson(15.0), SlaqJobs(curves=curves))
    work = draw(recipe, np.random.default_rng(0)).work
    assert work is not None
    found = Counter((work.curve_of(job), int(work.steps[job])) for job in range(20))
    assert found == {(curves[0], 40): 10, (curves[1], 1): 10}


def test_optimus_jobs_end_when_one_to_six_percent_of_the_reduction_are_left() -> None:
    jobs = drawn("optimus-50")
    work = jobs.work
    assert work is not None
    assert Counter(work.speeds.mode.tolist()) == {SpeedMode.SYNC: 25, SpeedMode.ASYNC: 25}
    for job in range(len(jobs)):
        curve = work.curve_of(job)
        assert curve is not None
        end = float(work.loss(job, int(work.steps[job])))
        left = (work.target_loss[job] - curve.lowest) / (curve.losses[0] - curve.lowest)
        assert end <= work.target_loss[job]
        assert 0.0099 <= left <= 0.0601


@pytest.mark.parametrize("mix", ["slaq-160", "optimus-50"])
def test_every_job_can_run_and_more_workers_help(mix: str) -> None:
    work = drawn(mix, seed=5).work
    assert work is not None
    assert list(work.complaints()) == []
    asked = work.speeds.steps_per_s(work.workers, work.servers)
    assert (work.speeds.steps_per_s(2 * work.workers, 2 * work.servers) > asked).all()
    assert (work.speeds.steps_per_s(1, np.minimum(work.servers, 1)) < asked).all()


def test_the_bytes_depend_only_on_the_seed() -> None:
    assert motet_csv(drawn("slaq-160", 7)) == motet_csv(drawn("slaq-160", 7))
    assert motet_csv(drawn("slaq-160", 7)) != motet_csv(drawn("slaq-160", 8))
    assert len(drawn("optimus-50", jobs=9)) == 9


def test_durations_cannot_be_set() -> None:
    with pytest.raises(BadInput, match="those of slaq-160 follow from steps and speeds"):
        parse_recipe("slaq-160", None, None, "bins")


@pytest.mark.parametrize("name", bundled_names())
def test_a_bundled_curve_falls(name: str) -> None:
    curve = bundled_curve(name)
    assert curve.lowest < curve.losses[0]
    assert curve.at(0.0) == curve.losses[0]
    assert curve.at(1.0) == curve.losses[-1]
    middle = (curve.losses[0] + curve.lowest) / 2
    assert curve.at(curve.part_until(middle)) == pytest.approx(middle)
    assert np.isnan(curve.part_until(curve.lowest - 1))
