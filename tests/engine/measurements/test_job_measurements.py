"""Estimates follow from what drivers report."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import ClassVar

import numpy as np
import pytest

from elastic_workloads import Row, elastic_workload
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision, Reasons
from motet.domain.estimates import Estimates
from motet.domain.policy import Policy
from motet.domain.snapshot import JobTable, Snapshot
from motet.domain.units import SECOND_US
from motet.engine.measurements.job_measurements import MOST_POINTS, Measurements
from motet.engine.state.table import JOB_COLUMNS
from motet.estimate.loss_curve.predictor import LossPredictor
from motet.estimate.speed_fit import NonNegativeFitter
from motet.placement.planners import ConsolidatingPlanner
from motet.sim.replay.simulation import Simulation
from motet.sim.speeds.speed_model import SameEverywhere
from simple_fitters import DisagreeingFitter, Hyperbolas, ThreePointFitter


def jobs(*numbers: int) -> JobTable:
    zeros = np.zeros(len(numbers), dtype=np.int64)
    return JobTable(**dict.fromkeys(JOB_COLUMNS, zeros) | {"number": np.array(numbers)})


def hyperbola(step: int) -> float:
    return 1 / (0.1 * step + 0.5) + 2.0


def trained(book: Measurements, job: int, until: int) -> None:
    book.trained(job, until + 0.5, [(step, hyperbola(step)) for step in range(until + 1)])


def fitted(found: Estimates, row: int = 0) -> list[float]:
    assert isinstance(found.forecasts, Hyperbolas)
    return list(found.forecasts.b[row])


def test_estimates_are_computed_again_only_after_a_change() -> None:
    book = Measurements()
    book.arrived(3, planned_steps=40.0)
    found = book.estimates(jobs(3))
    assert book.estimates(jobs(3)) is found
    assert len(book.estimates(jobs(3, 4)).loss) == 2
    book.arrived(4, planned_steps=5.0)
    assert book.estimates(jobs(3, 4)).steps_left.tolist() == [40.0, 5.0]
    trained(book, 3, 1)
    assert book.estimates(jobs(3, 4)).steps_done.tolist() == [1.5, 0.0]
    book.ran(3, 2, 1, 5.0)
    again = book.estimates(jobs(3, 4))
    book.ran(3, 2, 1, 5.0)  # Nothing new.
    assert book.estimates(jobs(3, 4)) is again
    book.left(4)
    np.testing.assert_array_equal(book.estimates(jobs(3, 4)).planned_steps, [40.0, np.nan])


def test_what_was_measured_is_there_job_by_job() -> None:
    book = Measurements()
    book.arrived(3, target_loss=2.5)
    book.arrived(5, planned_steps=40.0)
    trained(book, 5, 10)
    found = book.estimates(jobs(5, 3, 8))
    np.testing.assert_array_equal(found.steps_done, [10.5, 0.0, np.nan])
    np.testing.assert_array_equal(found.first_loss, [4.0, np.nan, np.nan])
    np.testing.assert_array_equal(found.loss, [hyperbola(10), np.nan, np.nan])
    np.testing.assert_array_equal(found.target_loss, [np.nan, 2.5, np.nan])
    np.testing.assert_array_equal(found.steps_left, [29.5, np.nan, np.nan])
    assert found.largest_change[0] == pytest.approx(4 - hyperbola(1))
    assert found.forecasts is None
    assert found.speed_mode.tolist() == [0, 0, 0]


def test_estimates_of_rigid_jobs_are_views_of_rows_that_are_kept() -> None:
    book, other = Measurements(), Measurements()
    other.arrived(9, planned_steps=40.0)
    many, few = book.estimates(jobs(1, 2, 3)), book.estimates(jobs(4, 5))
    assert np.shares_memory(many.loss, few.loss)
    beside = other.estimates(jobs(4, 5, 9))
    for name in ("loss", "steps_left", "target_loss", "speed_mode", "speed"):
        column = getattr(few, name)
        np.testing.assert_array_equal(column, getattr(beside, name)[:2])
        assert not column.flags.writeable
    assert few.forecasts is None


def test_policies_cannot_change_what_they_read() -> None:
    book = Measurements()
    book.arrived(3, target_loss=2.5)
    trained(book, 3, 10)
    found = book.estimates(jobs(3))
    columns = [column for column in values_of(found) if isinstance(column, np.ndarray)]
    assert columns
    assert not any(column.flags.writeable for column in columns)


def values_of(found: Estimates) -> list[object]:
    return [getattr(found, each.name) for each in fields(found)]


def test_the_end_is_predicted_where_the_curve_comes_to_the_target() -> None:
    book = Measurements(ThreePointFitter())
    book.arrived(0, target_loss=2.2)
    trained(book, 0, 10)
    found = book.estimates(jobs(0))
    assert fitted(found) == pytest.approx([0.1, 0.5, 2.0], rel=1e-6)
    assert found.steps_left[0] == pytest.approx(45 - 10.5, rel=1e-6)


def test_an_end_is_as_certain_as_the_curves_agree_at_it() -> None:
    """Losses of 8 to 4 and a target of 3: the distance is 1, as far as the curves are apart."""
    book = Measurements(DisagreeingFitter(1.0))
    book.arrived(0, target_loss=3.0)
    book.arrived(1, target_loss=1.0)
    book.arrived(2, planned_steps=40.0)
    book.arrived(3, target_loss=2.0)
    for job in (0, 1, 2):
        book.trained(job, 2.0, [(0, 8.0), (1, 5.0), (2, 4.0)])
    found = book.estimates(jobs(0, 1, 2, 3, 7))
    assert np.isinf(found.steps_left[1])
    assert found.end_confidence is not None
    assert found.end_confidence.tolist() == [0.5, 0, 1, 1, 1]
    assert Measurements().estimates(jobs(0)).end_confidence is None


def test_a_job_that_has_come_to_its_target_ends_for_certain() -> None:
    book = Measurements(DisagreeingFitter(1.0))
    book.arrived(0, target_loss=4.5)
    book.trained(0, 2.0, [(0, 8.0), (1, 5.0), (2, 4.0)])
    found = book.estimates(jobs(0))
    assert (found.steps_left[0], found.end_confidence) == (0.0, 1.0)


def test_the_confidence_in_an_end_is_asked_for_at_no_step_before_the_last_report() -> None:
    """A recovery has taken the job back to its first step."""
    book = Measurements(LossPredictor())
    book.arrived(0, target_loss=-100.0)
    book.trained(0, 1.0, [(step, 1 / step) for step in range(1, 9)])
    found = book.estimates(jobs(0))
    assert (found.steps_left[0], found.end_confidence) == (np.inf, 0.0)


def test_a_curve_is_fitted_again_only_when_a_tenth_is_new() -> None:
    fitter = ThreePointFitter()
    book = Measurements(fitter)
    book.arrived(0)
    trained(book, 0, 99)
    for step in range(100, 125):
        book.estimates(jobs(0))
        book.trained(0, step, [(step, hyperbola(step))])
    assert fitter.fits == 3


def test_a_row_stays_with_its_job_whoever_comes_and_goes() -> None:
    fitter = ThreePointFitter()
    book = Measurements(fitter)
    for job in range(4):
        book.arrived(job)
    for job in (0, 2, 3):
        scale = job + 1
        book.trained(job, 9, [(step, scale * hyperbola(step)) for step in range(10)])
    first = book.estimates(jobs(0, 1, 2, 3))
    book.left(0)
    then = book.estimates(jobs(3, 1, 2))
    floors = [fitted(first, row)[2] for row in range(3)], [fitted(then, row)[2] for row in range(2)]
    assert floors[0] == pytest.approx([2, 6, 8], rel=1e-6)
    assert floors[1] == pytest.approx([8, 6], rel=1e-6)
    assert fitter.fits == 3


def test_a_long_history_is_thinned_out() -> None:
    fitter = ThreePointFitter()
    book = Measurements(fitter)
    book.arrived(0)
    for step in range(10 * MOST_POINTS):
        book.trained(0, step, [(step, hyperbola(step))])
    found = book.estimates(jobs(0))
    assert found.loss[0] == hyperbola(10 * MOST_POINTS - 1)
    assert found.first_loss[0] == 4.0
    assert fitted(found) == pytest.approx([0.1, 0.5, 2.0], rel=1e-3)


def test_a_speed_that_was_measured_again_replaces_the_former() -> None:
    book = Measurements(speed_fitter=NonNegativeFitter())
    book.arrived(0)
    for workers, speed in ((1, 1.0), (2, 2.0), (4, 9.0), (4, 4.0)):
        book.ran(0, workers, 0, speed)
    found = book.estimates(jobs(0))
    assert found.speed[0] == pytest.approx([1, 0, 0, 0, 0, 1], abs=1e-9)


def test_jobs_that_left_are_forgotten() -> None:
    book = Measurements()
    book.arrived(0)
    book.left(0)
    assert 0 not in book
    assert np.isnan(book.estimates(jobs(0)).steps_done[0])


@dataclass(frozen=True)
class Looks(Policy):
    """Gives everybody the full request, and looks every second."""

    wants_estimates: ClassVar[bool] = True
    seen: list[tuple[int, Estimates]] = field(default_factory=list)

    def decide(self, snapshot: Snapshot) -> Decision:
        assert snapshot.estimates is not None
        self.seen.append((snapshot.now_us // SECOND_US, snapshot.estimates))
        zeros = np.zeros(len(snapshot.jobs), dtype=np.int64)
        reasons = Reasons(zeros, zeros, np.arange(len(zeros)))
        recheck_us = snapshot.now_us + SECOND_US
        return Decision(snapshot.jobs.gpus.copy(), reasons, recheck_at_us=recheck_us)


def test_a_simulation_reports_true_losses_and_speeds() -> None:
    workload = elastic_workload([Row(0, 79, 4, 8, 1, 2, 1)])
    policy, book = Looks(), Measurements(ThreePointFitter(), NonNegativeFitter())
    cluster, planner = ClusterSpec.uniform(1, 8), ConsolidatingPlanner()
    Simulation(workload, cluster, policy, planner, SameEverywhere(), measurements=book).run()
    seen = dict(policy.seen)
    assert workload.work is not None
    assert seen[0].steps_done[0] == 0
    assert seen[5].steps_done[0] == 20
    assert seen[5].loss[0] == workload.work.loss(0, 20)
    assert seen[5].planned_steps[0] == 79
    assert seen[5].steps_left[0] == 59
    changes = -np.diff(workload.work.loss(0, np.arange(21)))
    assert seen[5].largest_change[0] == pytest.approx(changes.max())
    assert seen[5].speed[0] == pytest.approx([1, 0, 0, 0, 0, 1], abs=1e-6)
    assert seen[0].forecasts is None
    assert np.isfinite(seen[5].forecasts.predict([30.0])).all()  # type: ignore[union-attr]
