"""The live screen of `motet demo`: a panel per job, and the roles on every machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.panel import Panel
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from motet.interfaces.cli.demo.training.jobs import DemoJob
from motet.interfaces.cli.screens import drawing
from motet.interfaces.cli.screens.job_progress import JobProgress
from motet.report.rendering.palette import QUIET_STYLE
from motet.report.rendering.quantities import duration_text, number_text, rate_text
from motet.runtime.elastic.role_placement import RolePlacement

CURVE_LINES = 4
LOSS_WIDTH = 8
MAX_WIDTH = 120
SPLIT_WIDTH = 10


@dataclass(frozen=True)
class JobView:
    """A job with its colour, progress and roles."""

    job: DemoJob
    colour: str
    progress: JobProgress
    roles: RolePlacement


class DemoScreen:
    """A rich renderable of all jobs."""

    def __init__(
        self,
        jobs: Sequence[JobView],
        machines: int,
        now_s: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.jobs, self._machines = jobs, machines
        self._now_s, self._began_s = now_s, now_s()
        self.stage = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Heading, panels in two columns, machines."""
        width = min(options.max_width, MAX_WIDTH)
        yield self._heading(width)
        yield self._panels(width)
        yield self._map()
        if self.stage:
            yield Spinner("dots", Text(f" {self.stage}"), style=QUIET_STYLE)

    def _heading(self, width: int) -> RenderableType:
        heading = Table.grid(expand=True)
        heading.add_column()
        heading.add_column(justify="right", style=QUIET_STYLE)
        title = Text.assemble(
            (" motet demo ", "bold reverse"),
            f"  four models learn at the same time on {self._machines} machines",
        )
        heading.add_row(title, duration_text(self._now_s() - self._began_s))
        return _Width(heading, width)

    def _panels(self, width: int) -> RenderableType:
        grid = Table.grid(expand=True, padding=(0, 0))
        grid.add_column(ratio=1)
        grid.add_column(ratio=1)
        inner = width // 2 - 4
        panels = [job_panel(view, inner) for view in self.jobs]
        for left in range(0, len(panels), 2):
            grid.add_row(*panels[left : left + 2])
        return _Width(grid, width)

    def _map(self) -> RenderableType:
        grid = Table.grid(padding=(0, 1))
        for machine in range(self._machines):
            chips = [_chip(view, machine) for view in self.jobs]
            grid.add_row(Text(f" machine {machine + 1} ", style=QUIET_STYLE), *chips)
        return grid


def job_panel(view: JobView, width: int) -> Panel:
    """Loss curve, epochs, speed and division of time of a job; `width`: of the inside."""
    title = Text.assemble(
        (f" {view.job.app} ", f"bold {view.colour}"), (f"{view.job.title} ", "default")
    )
    return Panel(
        Group(_curve(view, width), _epochs(view, width), _speed(view, width)),
        title=title,
        title_align="left",
        border_style=view.colour if view.progress.is_training else QUIET_STYLE,
        padding=(0, 1),
    )


def _curve(view: JobView, width: int) -> Text:
    """The curve with the last loss at its right."""
    progress = view.progress
    curve = drawing.loss_curve(progress, width - LOSS_WIDTH - 1, CURVE_LINES, view.colour)
    loss = number_text(progress.losses[-1]) if progress.losses else ""
    label = "loss" if progress.losses else ""
    labels = [Text("")] * (CURVE_LINES - 2) + [
        Text(label.rjust(LOSS_WIDTH), style=QUIET_STYLE),
        Text(loss.rjust(LOSS_WIDTH), style="bold"),
    ]
    lines = curve.split("\n", allow_blank=True)
    return Text("\n").join(
        line + Text(" ") + label for line, label in zip(lines, labels, strict=True)
    )


def _epochs(view: JobView, width: int) -> Text:
    progress = view.progress
    if not progress.is_training:
        return Text(progress.stage, style=QUIET_STYLE)
    count = f"epoch {progress.epoch}/{progress.epochs} "
    ending = f" {_state(progress):>6}"
    bar = drawing.epoch_bar(progress.share, max(4, width - len(count) - len(ending)), view.colour)
    return Text(count, style=QUIET_STYLE) + bar + Text(ending)


def _state(progress: JobProgress) -> str:
    if progress.is_done:
        return duration_text(progress.elapsed_s)
    return f"{progress.share:.0%}"


def _speed(view: JobView, width: int) -> Text:
    progress = view.progress
    if not progress.reports:
        return Text("")
    speed = Text(f"{rate_text(progress.instances_per_s)} {view.job.noun}/s ")
    bar_width = min(SPLIT_WIDTH, max(4, width - len(speed) - len("comp  comm")))
    split = drawing.comp_comm(progress.comm_share, bar_width, view.colour)
    return speed + Text(" " * (width - len(speed) - len(split))) + split


def _chip(view: JobView, machine: int) -> Text:
    """The roles of a job on a machine: worker, server, both or none."""
    roles = [("W", view.roles.workers), ("S", view.roles.servers)]
    held = "+".join(letter for letter, machines in roles if machine in machines)
    if not held:
        return Text(f" {view.job.app:<5}  ·  ", style=QUIET_STYLE)
    return Text(f" {view.job.app:<5} {held:<3} ", style=f"{view.colour} reverse")


class _Width:
    """A renderable with a fixed width."""

    def __init__(self, inner: RenderableType, width: int) -> None:
        self._inner, self._width = inner, width

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from console.render(self._inner, options.update(width=self._width))
