"""Progress of `motet train`: live on a terminal, elsewhere a plain line every few seconds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from motet.interfaces.cli.screens import drawing
from motet.interfaces.cli.screens.job_progress import JobProgress
from motet.interfaces.cli.screens.run_log import RunLog
from motet.report.rendering.palette import QUIET_STYLE
from motet.report.rendering.quantities import (
    bytes_text,
    count_text,
    duration_text,
    number_text,
    rate_text,
)
from motet.report.training.auto_summary import decision_line
from motet.runtime.autotune.history import TuningRecord
from motet.runtime.core.machine import Machine
from motet.runtime.core.reporting.reports import EpochReport, ReconfigurationReport, Recovery

LINE_EVERY_S = 10.0
SHOWN_DECISIONS = 4
REFRESH_PER_S = 8
BAR_WIDTH, SPARK_WIDTH, SPLIT_WIDTH = 40, 16, 10


class LineProgress(JobProgress):
    """Logs each start-up step, the first epoch, the last, and others every `every_s` seconds."""

    def __init__(
        self,
        log: RunLog,
        every_s: float = LINE_EVERY_S,
        now_s: Callable[[], float] = time.perf_counter,
    ) -> None:
        super().__init__(now_s=now_s)
        self._log = log
        self._every_s = every_s
        self._last_line_s = -math.inf

    def remark(self, text: str) -> None:
        """Log a note about the data or the run."""
        self._log.remark(text)

    def preparing(self, what: str) -> None:
        """Log the step."""
        super().preparing(what)
        self._log.line(what)

    def started(self, instance_count: int, model_bytes: int) -> None:
        """Log the size of the job."""
        super().started(instance_count, model_bytes)
        self._log.line(f"training: {instance_count:,} instances, model {bytes_text(model_bytes)}")

    def epoch_done(self, report: EpochReport) -> None:
        """Log the epoch if it is the last one, or if the time for a line has come."""
        super().epoch_done(report)
        now_s = self._now_s()
        if now_s - self._last_line_s >= self._every_s or report.epoch == self.epochs:
            self._last_line_s = now_s
            self._log.line(epoch_line(self, report))

    def recovering(self, recovery: Recovery) -> None:
        """Log the cause and the checkpoint."""
        super().recovering(recovery)
        self._log.line(
            f"recovering at epoch {recovery.at_epoch + 1} from the checkpoint after epoch "
            f"{recovery.resumed_from_epoch}: {recovery.cause}"
        )

    def machine_changed(self, machine: Machine) -> None:
        """Log the change."""
        self._log.line(machine_line(machine))

    def decided(self, record: TuningRecord) -> None:
        """Log a decision of the autotuner."""
        self.decisions.append(decision_line(record))
        self._log.line(self.decisions[-1])

    def reconfigured(self, report: ReconfigurationReport) -> None:
        """Log the reconfiguration; a remark if it failed."""
        if report.error:
            self._log.remark(f"a reconfiguration failed: {report.error}; training continues")
        else:
            self._log.line(reconfiguration_line(report))


def machine_line(machine: Machine) -> str:
    """`machine m3 will be taken away in 30 s`, `... has appeared` or `... is gone`."""
    if machine.condition == "up":
        return f"machine {machine.name} has appeared"
    if machine.condition == "gone":
        return f"machine {machine.name} is gone"
    when = "" if machine.notice_s is None else f" in {duration_text(machine.notice_s)}"
    return f"machine {machine.name} will be taken away{when}"


def reconfiguration_line(report: ReconfigurationReport) -> str:
    """`reconfigured after epoch 3: 1 worker, 2 servers -> 3 workers, 1 server in 0.05 s (...)`."""
    counts = [
        f"{count_text(each.workers, 'worker')}, {count_text(each.servers, 'server')}"
        for each in (report.before, report.after)
    ]
    return (
        f"reconfigured after epoch {report.at_epoch}: {' -> '.join(counts)} in "
        f"{report.plan_s:.2f} s ({count_text(report.operations, 'operation')}, "
        f"{bytes_text(report.moved_bytes)} moved, longest stall {1000 * report.stall_s:.0f} ms)"
    )


def epoch_line(progress: JobProgress, report: EpochReport) -> str:
    """`epoch 12/40  loss 0.2873  41.2 k instances/s  comm 12 %  ETA 0:34`."""
    return (
        f"epoch {report.epoch}/{progress.epochs}  loss {number_text(report.loss)}  "
        f"{rate_text(report.instances_per_s)} instances/s  comm {progress.comm_share:.0%}  "
        f"ETA {duration_text(progress.remaining_s)}"
    )


class LiveTrain:
    """A rich renderable of the progress of a job."""

    def __init__(self, progress: JobProgress, title: str, colour: str) -> None:
        self._progress, self._title, self._colour = progress, title, colour

    def __rich__(self) -> RenderableType:
        """Heading, epochs, loss and speed, last decisions."""
        job = self._progress
        if not job.is_training or job.stage.startswith("recovering"):
            return Group(self._heading(), Spinner("dots", Text(job.stage), style=self._colour))
        decisions = [
            Text(f"  {line}", style=QUIET_STYLE, overflow="ellipsis", no_wrap=True)
            for line in job.decisions[-SHOWN_DECISIONS:]
        ]
        return Group(self._heading(), self._position(), self._figures(), *decisions)

    def _heading(self) -> Text:
        job = self._progress
        heading = Text.assemble(("● ", self._colour), (self._title, "bold"))
        if job.is_training:
            size = f"{job.instance_count:,} instances, model {bytes_text(job.model_bytes)}"
            heading.append(f"  {size}", style=QUIET_STYLE)
        return heading

    def _position(self) -> Text:
        job = self._progress
        return Text("   ").join(
            [
                drawing.labelled("  epoch", f"{job.epoch}/{job.epochs}"),
                drawing.epoch_bar(job.share, BAR_WIDTH, self._colour),
                drawing.labelled("ETA", duration_text(job.remaining_s)),
            ]
        )

    def _figures(self) -> Text:
        job, colour = self._progress, self._colour
        loss = number_text(job.losses[-1]) if job.losses else "-"
        return Text("   ").join(
            [
                drawing.labelled("  loss", f"{loss} ")
                + drawing.loss_spark(job, SPARK_WIDTH, colour),
                Text(f"{rate_text(job.instances_per_s)} instances/s"),
                drawing.comp_comm(job.comm_share, SPLIT_WIDTH, colour),
            ]
        )


def live(renderable: RenderableType, console: Console) -> AbstractContextManager[object]:
    """Redraws `renderable` until the context ends, then removes it."""
    return Live(renderable, console=console, refresh_per_second=REFRESH_PER_S, transient=True)
