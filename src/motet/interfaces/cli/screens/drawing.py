"""Parts of screens: bars, sparklines, loss curves, labels."""

from __future__ import annotations

from rich.text import Text

from motet.interfaces.cli.screens.job_progress import JobProgress
from motet.report.rendering.palette import QUIET_STYLE
from motet.report.rendering.text_plot import braille_curve, sparkline


def epoch_bar(share: float, width: int, colour: str) -> Text:
    """A thin bar filled from the left; `share` 0..1."""
    halves = round(max(0.0, min(share, 1.0)) * width * 2)
    full, half = divmod(halves, 2)
    bar = Text("━" * full + "╸" * half, style=colour)
    return bar.append("─" * (width - full - half), style=QUIET_STYLE)


def comp_comm(comm_share: float, width: int, colour: str) -> Text:
    """The workers' time as a bar: COMP solid (at least one cell), COMM dashed."""
    comm = min(round(comm_share * width), width - 1)
    bar = Text.assemble(
        ("comp ", QUIET_STYLE), ("━" * (width - comm), colour), ("╌" * comm, QUIET_STYLE)
    )
    return bar.append(" comm", style=QUIET_STYLE)


def loss_spark(progress: JobProgress, width: int, colour: str) -> Text:
    """The loss of all epochs so far in one line."""
    return Text(sparkline(progress.losses, width).ljust(width), style=colour)


def loss_curve(progress: JobProgress, width: int, height: int, colour: str) -> Text:
    """The loss so far as a braille curve; the full width is that of all epochs."""
    span = len(progress.losses) if progress.is_done else progress.epochs
    return Text("\n".join(braille_curve(progress.losses, width, height, span)), style=colour)


def labelled(label: str, value: str) -> Text:
    """A grey label and its value."""
    return Text.assemble((f"{label} ", QUIET_STYLE), value)
