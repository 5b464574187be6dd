"""Progress as screens read it."""

from __future__ import annotations

import math

from motet.interfaces.cli.screens.job_progress import JobProgress
from motet.runtime.core.reporting.reports import EpochReport, Recovery


class Clock:
    def __init__(self) -> None:
        self.s = 0.0

    def __call__(self) -> float:
        return self.s


def report(epoch: int, loss: float = 1.0) -> EpochReport:
    return EpochReport(epoch, loss, {}, 2.0, 1.5, 0.5, 0.0, 100, 50, 1000)


def test_before_training_nothing_is_known() -> None:
    progress = JobProgress(10, Clock())
    progress.preparing("starting 3 executors")

    assert (progress.stage, progress.is_training, progress.share) == (
        "starting 3 executors",
        False,
        0.0,
    )
    assert math.isnan(progress.remaining_s)


def test_the_remaining_time_is_at_the_mean_speed_so_far() -> None:
    clock = Clock()
    progress = JobProgress(10, clock)
    progress.started(1000, 64)
    clock.s = 4.0
    progress.epoch_done(report(0))
    progress.epoch_done(report(1))

    assert (progress.elapsed_s, progress.remaining_s, progress.share) == (4.0, 16.0, 0.2)


def test_the_remaining_time_leaves_recoveries_out() -> None:
    clock = Clock()
    progress = JobProgress(10, clock)
    progress.started(1000, 64)
    for epoch in range(4):
        clock.s = 2.0 * (epoch + 1)
        progress.epoch_done(report(epoch))
    clock.s = 100.0
    progress.recovering(Recovery(4, 2, "executor 1 died"))
    clock.s = 160.0
    progress.started(1000, 64)
    assert progress.remaining_s == 16.0
    clock.s = 162.0
    progress.epoch_done(report(2))
    assert progress.remaining_s == 14.0


def test_the_speed_of_a_resumed_run_counts_its_own_epochs() -> None:
    clock = Clock()
    progress = JobProgress(10, clock)
    progress.started(1000, 64)
    clock.s = 3.0
    progress.epoch_done(report(7))
    assert progress.remaining_s == 6.0


def test_batches_move_the_bar_inside_an_epoch() -> None:
    progress = JobProgress(4, Clock())
    progress.started(1000, 64)
    progress.batch_done(0, 4, 10)

    assert (progress.epoch, progress.share) == (0, 0.125)


def test_speed_division_and_bytes_come_from_the_reports() -> None:
    progress = JobProgress(10, Clock())
    progress.epoch_done(report(0))
    progress.epoch_done(report(1))

    assert (progress.instances_per_s, progress.comm_share, progress.bytes_moved) == (500, 0.25, 300)


def test_a_recovery_drops_the_epochs_that_are_trained_again() -> None:
    progress = JobProgress(10, Clock())
    for epoch in range(5):
        progress.epoch_done(report(epoch))
    progress.recovering(Recovery(5, 2, "executor 1 died"))

    assert (progress.epoch, len(progress.losses), progress.share) == (2, 2, 0.2)
    assert progress.stage == "recovering: executor 1 died"


def test_a_finished_job_is_complete_even_if_it_stopped_early() -> None:
    clock = Clock()
    progress = JobProgress(10, clock)
    progress.started(1000, 64)
    progress.epoch_done(report(0))
    clock.s = 3.0
    progress.finished()
    clock.s = 9.0

    assert (progress.share, progress.elapsed_s, progress.is_done) == (1.0, 3.0, True)


def test_start_up_ends_when_training_begins() -> None:
    clock = Clock()
    progress = JobProgress(10, clock)
    assert math.isnan(progress.startup_s(0.0))
    clock.s = 4.0
    progress.started(1000, 64)
    clock.s = 9.0

    assert progress.startup_s(1.0) == 3.0
