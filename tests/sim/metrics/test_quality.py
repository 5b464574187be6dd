"""Views of quality, from the steps that jobs did."""

from __future__ import annotations

import numpy as np
import pytest

from elastic_workloads import Row, elastic_workload, linear
from motet.domain.cluster import ClusterSpec
from motet.domain.units import SECOND_US
from motet.placement.planners import ConsolidatingPlanner
from motet.policies.fair import Fair
from motet.policies.fifo import Fifo
from motet.report.cluster_run.quality import QualityOverTime
from motet.sim.curves import bundled_curve
from motet.sim.metrics.quality import (
    QualitySummary,
    average_normalised_loss,
    normalised_losses,
    quality_over_time,
    time_to_reduction_s,
    training_of,
)
from motet.sim.replay.outcome import Outcome
from motet.sim.replay.simulation import Simulation
from motet.sim.speeds.speed_model import SameEverywhere

CURVE = bundled_curve("svm-sgd-a9a")


def run(rows: list[Row], policy: object, gpus: int = 4) -> Outcome:
    cluster = ClusterSpec.uniform(1, gpus)
    planner, speeds = ConsolidatingPlanner(), SameEverywhere()
    return Simulation(elastic_workload(rows), cluster, policy, planner, speeds).run()  # type: ignore[arg-type]


def test_steps_follow_the_speeds_that_a_job_had() -> None:
    outcome = run([linear(0, 40, 4), linear(5, 10, 4)], Fair())
    one = training_of(outcome.trained, 0)
    at_s = np.array([0, 5, 7, 10, 12, 99]) * SECOND_US
    assert one.steps_at(at_s).tolist() == [0, 20, 24, 30, 38, 40]
    assert [one.time_of(step) / SECOND_US for step in (20, 24, 30, 38, 40)] == [5, 7, 10, 12, 12.5]
    assert np.isnan(one.time_of(41))


def test_losses_are_normalised_by_the_range_of_the_job() -> None:
    outcome = run([linear(0, 79, 1)], Fifo())
    losses = normalised_losses(outcome, np.arange(-1, 80) * SECOND_US)[0]
    assert np.isnan(losses[[0, -1]]).all()
    wanted = (CURVE.losses - CURVE.lowest) / (CURVE.losses[0] - CURVE.lowest)
    np.testing.assert_allclose(losses[1:-1], wanted[:-1], atol=1e-12)


def test_the_average_is_over_the_jobs_that_are_there() -> None:
    outcome = run([linear(0, 79, 4), linear(10, 79, 4), Row(0, 0, 1, 1)], Fifo(), gpus=9)
    times = np.array([9, 15, 60]) * SECOND_US
    losses = normalised_losses(outcome, times)
    average = average_normalised_loss(outcome, times)
    assert average[0] == losses[0, 0]
    assert average[1] == losses[[0, 2], 1].mean()
    assert np.isnan(average[2])


def test_the_time_to_a_reduction_counts_the_wait() -> None:
    outcome = run([linear(0, 79, 4), linear(0, 79, 4)], Fifo())
    level = CURVE.losses[0] - 0.9 * (CURVE.losses[0] - CURVE.lowest)
    alone_s = CURVE.part_until(level) * 79 / 4
    assert time_to_reduction_s(outcome, 0.9) == pytest.approx([alone_s, 79 / 4 + alone_s], abs=1e-5)


def test_jobs_without_a_curve_have_no_quality() -> None:
    outcome = run([Row(0, 0, 1, 1)], Fifo())
    assert np.isnan(time_to_reduction_s(outcome, 0.5)).all()
    assert np.isnan(average_normalised_loss(outcome, [0])).all()


def test_gpu_shares_by_loss_cover_the_time_of_submissions() -> None:
    """Four jobs of a GPU each come one after the other, and none ends before the last is there.

    Ten seconds one is alone, the lowest half; ten seconds the later of two is the next quarter, as
    a quarter of two jobs is nobody; ten seconds there is one of three in every group.
    """
    outcome = run([linear(10 * number, 79, 1) for number in range(4)], Fifo())
    shares = QualitySummary.of(outcome).gpu_share_by_loss

    assert shares["highest_quarter"] == pytest.approx(10 / 60, abs=1e-3)
    assert shares["next_quarter"] == pytest.approx(20 / 60, abs=1e-3)
    assert shares["lowest_half"] == pytest.approx(30 / 60, abs=1e-3)


def test_quality_over_time_extends_to_the_last_completion() -> None:
    outcome = run([linear(5, 79, 1), linear(5, 79, 1), Row(0, 0, 1, 1)], Fifo())
    quality = quality_over_time(outcome)
    assert quality is not None
    times_us = quality.times_us

    assert (times_us[0], times_us[-1]) == (0, 84 * SECOND_US)
    assert set(quality.jobs.tolist()) == {0, 2}
    assert quality.gpus[:, quality.jobs == 2].sum(axis=0).tolist() == [2] * int(
        (quality.jobs == 2).sum()
    )
    np.testing.assert_array_equal(quality.average_loss, average_normalised_loss(outcome, times_us))
    assert np.isnan(quality.shares[:, quality.jobs == 0]).all()


def test_written_quality_reads_back() -> None:
    quality = quality_over_time(run([linear(1, 79, 1), linear(5, 79, 1)], Fifo(), gpus=1))
    assert quality is not None
    rows = [[str(cell) for cell in row] for row in quality.rows()]
    read = QualityOverTime.of_columns(list(zip(*rows, strict=True)))

    for name in ("times_us", "jobs", "average_loss", "gpus"):
        np.testing.assert_array_equal(getattr(read, name), getattr(quality, name))


def test_rigid_jobs_have_no_quality_over_time() -> None:
    assert quality_over_time(run([Row(0, 0, 1, 1)], Fifo())) is None
