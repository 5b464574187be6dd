"""What Harmony's benchmark on a testbed computes from what it measures."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from motet.estimate.colocation.group_time import SubtaskTimes
from motet.runtime.core.reporting.reports import EpochReport
from support.harmony_predictions import PREDICTIONS, QUEUES, prediction, queued_period_s
from support.testbed_jobs import EpochLog, Measured


def epoch(number: int, batches_s: tuple[float, ...], comp_s: float, comm_s: float) -> EpochReport:
    return EpochReport(
        number,
        0.0,
        {},
        sum(batches_s),
        comp_s,
        comm_s,
        0.0,
        0,
        0,
        1,
        batch_s=batches_s,
        cycle_s=sum(batches_s),
    )


def test_only_epochs_within_the_window_count(monkeypatch: pytest.MonkeyPatch) -> None:
    log, now_s = EpochLog(), [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])
    for number, (end_s, wall_s) in enumerate([(1.0, 1.0), (3.0, 2.0), (4.0, 1.0), (9.0, 5.0)]):
        now_s[0] = end_s
        log.epoch_done(epoch(number, (wall_s / 2, wall_s / 2), wall_s / 4, wall_s / 8))
    found = log.between(1.0, 4.5)
    assert found is not None
    assert found.batches == 4
    assert found.iteration_s == pytest.approx(3.0 / 4)
    assert found.period_s == pytest.approx((4.0 - 3.0) / 2)
    assert found.times.comp_s == pytest.approx(3.0 / 4 / 4)
    assert found.times.comm_s == pytest.approx(3.0 / 8 / 4)
    assert log.between(4.5, 8.0) is None


def test_a_mini_batch_has_its_part_of_the_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits for tokens are no gap."""
    log = EpochLog()
    monkeypatch.setattr(time, "monotonic", lambda: 5.0)
    evaluation = {"evaluation_comp_s": 0.6, "evaluation_comm_s": 0.2, "cycle_s": 3.0, "gate_s": 0.4}
    log.epoch_done(replace(epoch(0, (1.0, 1.0), 0.8, 0.4), **evaluation))
    found = log.between(0.0, 6.0)
    assert found is not None
    assert found.times[:4] == pytest.approx((0.7, 0.3, 0.0, 1.5 - 0.7 - 0.3 - 0.2))
    assert found.iteration_s == pytest.approx(1.5)


def test_cpu_time_outside_of_comp_is_at_the_speed_of_a_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = EpochLog()
    monkeypatch.setattr(time, "monotonic", lambda: 5.0)
    log.epoch_done(replace(epoch(0, (1.0, 1.0), 0.8, 0.4), cpu_s=0.3))
    found = log.between(0.0, 6.0, cpus=0.25)
    assert found is not None
    assert found.times[:3] == pytest.approx((0.4, 0.2, (0.3 / 0.25 - 0.8) / 2))


def measured(times: SubtaskTimes, iteration_s: float, period_s: float) -> Measured:
    return Measured(times, SubtaskTimes(0.0, 0.0), iteration_s, period_s, 9, 1)


def test_an_error_is_relative_to_the_slowest_job_of_the_group() -> None:
    alone = [measured(SubtaskTimes(0.3, 0.4, 0.2), 0.7, 0.7) for _ in range(2)]
    times = SubtaskTimes(0.4, 0.4, 0.3, 0.7)
    whole = [measured(times, each_s, 1.3) for each_s in (0.8, 1.25)]
    found = prediction("a+b", alone, whole, 0.9)
    errors = [found.error(name) for name in PREDICTIONS[:4]]
    assert errors == pytest.approx([0.8 / 1.25 - 1, 0.8 / 1.25 - 1, 1 / 1.25 - 1, 1.4 / 1.25 - 1])
    assert found.error("gaps, in group") == pytest.approx((0.4 + 0.4 + 0.7) / 1.3 - 1)
    assert found.error(QUEUES) == pytest.approx(found.predicted_s[QUEUES] / 1.3 - 1)
    assert found.bound == "cpu"


def test_a_job_that_waits_for_nobody_has_its_own_period() -> None:
    """PULL 0.1, COMP 0.3, PUSH 0.1, twice; evaluation 0.2 + 0.2; 0.4 s until the next epoch."""
    times = SubtaskTimes(0.3 + 0.2 / 2, 0.2 + 0.2 / 2)
    job = Measured(times, SubtaskTimes(0.2, 0.2), 0.7, 0.9, 8, 2)
    assert queued_period_s([job]) == pytest.approx(0.9)


def test_jobs_that_use_the_cpu_up_take_turns_and_hide_the_time_between_epochs() -> None:
    jobs = [measured(SubtaskTimes(0.4, 0.1, 0.1), 0.5, 0.6) for _ in range(3)]
    assert queued_period_s(jobs) == pytest.approx(3 * 0.5, rel=1e-3)
