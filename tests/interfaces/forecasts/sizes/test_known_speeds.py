"""Speeds of a training by size, from what it reported."""

from __future__ import annotations

import pytest

from motet.domain.events import SizeProposed, SpeedMeasured, SubtasksMeasured
from motet.domain.snapshot import Placement
from motet.estimate.colocation.subtask_profile import SubtaskProfile
from motet.interfaces.forecasts.sizes.known_speeds import known_speeds
from motet.live.jobs.attempt import Attempt
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_file import job_spec
from motet.sim.workload.measured_work import is_measured
from motet.sim.workload.size_speeds import SizeSpeeds

TRAINING = {"name": "fit", "kind": "ps", "app": "mlr", "data": "digits", "workdir": "/"}


def job(**size: object) -> LiveJob:
    place = Placement((0,), (2,))
    attempts = [Attempt(1, place, 0, 1, 1, ended_us=100), Attempt(2, place, 100, 3, 1)]
    return LiveJob(1, job_spec({**TRAINING, **size}), "ann", 0, attempts)


SELF_SIZED = {"auto": True, "workers": {"min": 1, "max": 4}}


def ratio(speeds: SizeSpeeds, workers: int) -> float:
    return speeds.at(workers, 1) / speeds.at(1, 1)


def test_the_speed_at_a_size_is_the_median_of_its_reports() -> None:
    at_one = [(10 * place, SpeedMeasured(1, 1, 1, each)) for place, each in enumerate((2, 9, 2))]
    found = known_speeds(job(**SELF_SIZED), [*at_one, (150, SpeedMeasured(1, 3, 1, 5.0))])
    assert isinstance(found, SizeSpeeds)
    assert ratio(found, 3) == pytest.approx(2.5)
    assert is_measured(found, 3, 1)


def test_a_size_that_was_proposed_and_never_held_is_as_fast_as_predicted() -> None:
    told = [(10, SpeedMeasured(1, 1, 1, 2.0)), (20, SizeProposed(1, 4, 1, 0.5))]
    found = known_speeds(job(**SELF_SIZED), told)
    assert isinstance(found, SizeSpeeds)
    assert ratio(found, 4) == pytest.approx(2.0)
    assert not is_measured(found, 4, 1)


def test_what_was_measured_counts_more_than_what_was_predicted() -> None:
    told = [(10, SpeedMeasured(1, 1, 1, 2.0)), (20, SizeProposed(1, 3, 1, 0.5))]
    found = known_speeds(job(**SELF_SIZED), [*told, (150, SpeedMeasured(1, 3, 1, 3.0))])
    assert isinstance(found, SizeSpeeds)
    assert ratio(found, 3) == pytest.approx(1.5)


def test_a_training_that_reported_no_speed_is_equally_fast_at_all_sizes() -> None:
    found = known_speeds(job(**SELF_SIZED), [(20, SizeProposed(1, 4, 1, 0.5))])
    assert isinstance(found, SizeSpeeds)
    assert ratio(found, 3) == ratio(found, 4) == 1
    assert not is_measured(found, 1, 1)


def test_a_training_on_machines_has_its_profile_if_it_reported_one() -> None:
    reported = SubtasksMeasured(1, 2, 3.0, 1.0, outside_s=0.5)
    found = known_speeds(job(machines="any"), [(10, reported)])
    assert found == SubtaskProfile.of(2, 3.0, 1.0, 0.5)
    assert is_measured(found, 2, 2)
    assert not is_measured(found, 1, 1)
    assert isinstance(known_speeds(job(machines="any"), []), SizeSpeeds)


@pytest.mark.parametrize(
    ("keys", "overlaps"),
    [({"allow_async": True}, False), ({"set": {"consistency": "async"}}, True), ({}, True)],
)
def test_a_profile_has_no_mode_where_the_policy_chooses_it(
    keys: dict[str, object], overlaps: bool
) -> None:
    reported = SubtasksMeasured(1, 2, 3.0, 1.0, overlaps=True)
    found = known_speeds(job(machines="any", **keys), [(10, reported)])
    assert isinstance(found, SubtaskProfile)
    assert found.overlaps == overlaps
