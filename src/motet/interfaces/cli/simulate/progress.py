"""Progress of several simulations on a terminal: a bar per run."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from motet.interfaces.cli.shell.streams.safe_console import SafeConsole
from motet.interfaces.cli.shell.streams.terminal import is_live_terminal
from motet.interfaces.simulation_pool import ProgressReport
from motet.report.rendering.palette import QUIET_STYLE, job_colour


@contextmanager
def simulation_progress(
    names: Sequence[str], jobs: int, *, is_quiet: bool
) -> Iterator[ProgressReport]:
    """A bar per run on a terminal, nothing elsewhere. `jobs`: number of jobs of each run."""
    if is_quiet or not is_live_terminal(sys.stderr):
        yield lambda number, finished: None
        return
    with _bars() as progress:
        tasks = [progress.add_task(name, total=jobs, start=False) for name in names]

        def report(number: int, finished: int) -> None:
            if finished and not progress.tasks[number].started:
                progress.start_task(tasks[number])
            progress.update(tasks[number], completed=finished)

        yield report


class _JobsLeft(TimeRemainingColumn):
    """The estimated time; before the first job has ended, what may take long."""

    def render(self, task: Task) -> Text:
        """Rich's column."""
        if not task.completed:
            return Text("jobs  the first run compiles", style=QUIET_STYLE)
        return Text("jobs  ETA ", style=QUIET_STYLE) + super().render(task)


def _bars() -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(complete_style=job_colour(0), finished_style=job_colour(2)),
        MofNCompleteColumn(),
        _JobsLeft(compact=True),
        console=SafeConsole(stderr=True),
        transient=True,
    )
