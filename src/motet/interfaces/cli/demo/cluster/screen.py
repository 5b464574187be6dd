"""The live screen of `motet demo`: the slots of the machines, the jobs, the last changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from motet.interfaces.cli.demo.cluster.progress import DemoProgress, unix_seconds
from motet.interfaces.cli.screens import drawing
from motet.live.jobs.job_state import JobState
from motet.report.rendering.palette import QUIET_STYLE
from motet.report.rendering.quantities import duration_text, number_text

MAX_WIDTH = 110
SLOT_WIDTH, BAR_WIDTH = 14, 16
STATE_STYLES = {
    JobState.PENDING: "default",
    JobState.PREEMPTED: "yellow",
    JobState.SUCCEEDED: QUIET_STYLE,
    JobState.FAILED: "red",
}


class ClusterScreen:
    """A rich renderable of the demo's cluster and jobs. `url`: of the web page."""

    def __init__(
        self, progress: DemoProgress, url: str, now_s: Callable[[], float] = time.time
    ) -> None:
        self._progress, self._url, self._now_s = progress, url, now_s
        self._began_s = now_s()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Heading, slots, jobs, changes."""
        width = min(options.max_width, MAX_WIDTH)
        yield from console.render(self._heading(), options.update(width=width))
        yield Text()
        yield self._slots()
        yield Text()
        yield self._jobs(width)
        yield Text()
        for event in self._progress.events:
            yield Text(f" {event}", style=QUIET_STYLE)

    def _heading(self) -> Table:
        heading = Table.grid(expand=True)
        heading.add_column()
        heading.add_column(justify="right", style=QUIET_STYLE)
        title = Text.assemble((" motet demo ", "bold reverse"), f"  {self._url}")
        heading.add_row(title, duration_text(self._now_s() - self._began_s))
        return heading

    def _slots(self) -> Table:
        grid = Table.grid(padding=(0, 1))
        for machine in self._progress.machines:
            chips = [
                Text(self._progress.name_of(job).center(SLOT_WIDTH)[:SLOT_WIDTH], self._chip(job))
                for job, slots in machine["jobs"].items()
                for _ in range(slots)
            ]
            free = int(machine["slots"]) - len(chips)
            chips += [Text("·".center(SLOT_WIDTH), style=QUIET_STYLE)] * free
            grid.add_row(Text(f" {machine['name']} ", style=QUIET_STYLE), *chips)
        return grid

    def _chip(self, job: str) -> str:
        return f"{self._progress.colour_of(job)} reverse"

    def _jobs(self, width: int) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), width=width)
        for column in ("", "job", "slots", "state", "progress", "time"):
            table.add_column(
                column,
                justify="right" if column in ("slots", "time") else "left",
                no_wrap=True,
                header_style=QUIET_STYLE,
                ratio=1 if column == "progress" else None,
            )
        for job in self._progress.jobs:
            table.add_row(*self._job(job))
        return table

    def _job(self, job: Mapping[str, Any]) -> list[Text | str]:
        state = JobState(job["state"])
        colour = self._progress.colour_of(job["id"])
        return [
            Text(" ●", style=colour),
            str(job["name"]),
            str(job["processes"]),
            Text(state.value, style=STATE_STYLES.get(state, colour)),
            self._position(job, state, colour),
            duration_text(self._age_s(job)),
        ]

    def _position(self, job: Mapping[str, Any], state: JobState, colour: str) -> Text:
        """Epochs and loss of a training; why a job waits; how often it was interrupted."""
        if state in (JobState.PENDING, JobState.PREEMPTED) and job["message"]:
            return Text(str(job["message"]), style=QUIET_STYLE, overflow="ellipsis")
        text = Text()
        progress = job["progress"]
        if progress is not None and progress["epochs"]:
            text += drawing.epoch_bar(
                progress["epochs_done"] / progress["epochs"], BAR_WIDTH, colour
            )
            if progress["loss"] is not None:
                text += drawing.labelled("  loss", number_text(progress["loss"]))
        interruptions = job["attempts"] - 1
        if interruptions > 0:
            times = "once" if interruptions == 1 else f"{interruptions} times"
            text += Text(f"  preempted {times}" if text else f"preempted {times}", QUIET_STYLE)
        return text

    def _age_s(self, job: Mapping[str, Any]) -> float:
        ended_s = unix_seconds(job["ended_at"])
        begun_s = unix_seconds(job["submitted_at"])
        assert begun_s is not None
        return max((self._now_s() if ended_s is None else ended_s) - begun_s, 0.0)
