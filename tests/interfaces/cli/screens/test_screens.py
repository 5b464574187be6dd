"""What people see while jobs train, at any moment and on any width."""

from __future__ import annotations

import io

import pytest
from rich.console import Console, RenderableType

from motet.interfaces.cli.demo.training.jobs import DEMO_JOBS, MACHINES
from motet.interfaces.cli.demo.training.screen import DemoScreen, JobView
from motet.interfaces.cli.screens.job_progress import JobProgress
from motet.interfaces.cli.screens.run_log import RunLog
from motet.interfaces.cli.screens.train import LineProgress, LiveTrain
from motet.report.rendering.palette import job_colour
from motet.runtime.core.reporting.reports import EpochReport, Recovery
from motet.runtime.elastic.role_placement import RolePlacement

EPOCHS = 20


class Clock:
    s = 0.0

    def __call__(self) -> float:
        return self.s


def report(epoch: int) -> EpochReport:
    return EpochReport(epoch, 2.0 / (epoch + 1), {}, 0.5, 0.3, 0.1, 0.0, 1000, 500, 1437)


def progress_after(epochs: int, *, is_done: bool = False) -> JobProgress:
    clock = Clock()
    progress = JobProgress(EPOCHS, clock)
    progress.preparing("starting 3 executors")
    if epochs:
        progress.started(1437, 5120)
    for epoch in range(epochs):
        clock.s += 0.5
        progress.epoch_done(report(epoch))
    if is_done:
        progress.finished()
    return progress


def drawn(what: RenderableType, width: int) -> list[str]:
    console = Console(width=width, file=io.StringIO(), record=True, color_system=None)
    console.print(what)
    return console.export_text().splitlines()


def demo_screen(progresses: list[JobProgress]) -> DemoScreen:
    views = [
        JobView(
            job, job_colour(at), progress, RolePlacement.spread(MACHINES, job.workers, job.servers)
        )
        for at, (job, progress) in enumerate(zip(DEMO_JOBS, progresses, strict=True))
    ]
    return DemoScreen(views, MACHINES, Clock())


MOMENTS = {
    "nothing started": [progress_after(0) for _ in DEMO_JOBS],
    "some train": [progress_after(epochs) for epochs in (0, 1, 7, 20)],
    "all done": [progress_after(EPOCHS, is_done=True) for _ in DEMO_JOBS],
}


@pytest.mark.parametrize("width", [80, 100, 200])
@pytest.mark.parametrize("progresses", MOMENTS.values(), ids=MOMENTS)
def test_the_demo_fits_a_terminal_at_every_moment(
    progresses: list[JobProgress], width: int
) -> None:
    lines = drawn(demo_screen(progresses), width)

    assert len(lines) <= 24
    assert max(map(len, lines)) <= width
    for job in DEMO_JOBS:
        assert any(f" {job.app} " in line for line in lines)


def test_panels_keep_their_size_from_start_to_end() -> None:
    heights = {len(drawn(demo_screen(progresses), 100)) for progresses in MOMENTS.values()}

    assert len(heights) == 1


def test_the_map_shows_which_role_every_job_has_on_every_machine() -> None:
    lines = drawn(demo_screen(MOMENTS["all done"]), 100)
    machines = [line.split() for line in lines if line.startswith(" machine ")]

    assert machines == [
        ["machine", "1", "mlr", "W", "nmf", "W", "lasso", "W", "lda", "W"],
        ["machine", "2", "mlr", "W", "nmf", "W", "lasso", "W", "lda", "W"],
        ["machine", "3", "mlr", "S", "nmf", "·", "lasso", "·", "lda", "W+S"],
        ["machine", "4", "mlr", "S", "nmf", "S", "lasso", "S", "lda", "S"],
    ]


def test_a_running_job_shows_epoch_loss_speed_division_of_time_and_remaining_time() -> None:
    lines = drawn(LiveTrain(progress_after(7), "mlr on digits", "blue"), 80)

    assert lines[0] == "● mlr on digits  1,437 instances, model 5.1 kB"
    assert lines[1].split() == ["epoch", "7/20", "━" * 14 + "─" * 26, "ETA", "6.5", "s"]
    assert lines[2].split() == [
        *("loss", "0.2857", "█▄▃▂▁▁▁", "2,874", "instances/s", "comp", "━━━━━━━━╌╌", "comm"),
    ]


def test_the_screen_shows_the_stage_of_starting_and_recovering_jobs() -> None:
    starting = drawn(LiveTrain(progress_after(0), "mlr", "blue"), 100)
    recovering = progress_after(5)
    recovering.recovering(Recovery(5, 2, "executor 1 died"))

    assert "starting 3 executors" in starting[1]
    assert "recovering: executor 1 died" in drawn(LiveTrain(recovering, "mlr", "blue"), 100)[1]


def test_without_a_terminal_a_line_appears_every_ten_seconds() -> None:
    lines: list[str] = []
    clock = Clock()
    progress = LineProgress(RunLog(None, lines.append), now_s=clock)
    progress.epochs = 40
    progress.preparing("starting Ray")
    progress.started(1437, 5120)
    for epoch in range(40):
        clock.s += 0.75
        progress.epoch_done(report(epoch))

    assert lines[:2] == ["starting Ray", "training: 1,437 instances, model 5.1 kB"]
    assert [line.split()[1] for line in lines[2:]] == ["1/40", "15/40", "29/40", "40/40"]
    assert lines[-1] == "epoch 40/40  loss 0.0500  2,874 instances/s  comm 25%  ETA 0.0 s"
