"""The best configuration of a job as text: roles by type, epoch time over numbers of workers."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from motet.cruise.search.worker_gain import WorkerGain
from motet.report.rendering.fitting_table import result_table
from motet.report.rendering.palette import QUIET_STYLE, job_colour
from motet.report.rendering.quantities import count_text, duration_text
from motet.report.rendering.text_plot import braille_curve
from motet.report.training.planned_job import AsItRan, PlannedJob

CURVE_WIDTH, CURVE_HEIGHT = 60, 8
SHOWN_ABOVE_BEST = 5.0
"""The curve is cut off at this multiple of the best epoch time, so that its minimum is visible."""


def plan_summary(planned: PlannedJob, out: Path | None) -> RenderableType:
    """The configuration, a row per type, the curve, and the run that was profiled."""
    parts: list[RenderableType] = [*_heading(planned), Text(), _types(planned), Text()]
    if len(planned.curve.workers) > 1:
        parts += [*_curve(planned), Text()]
    parts.append(Text(gain_text(planned.gain)))
    if planned.run is not None:
        parts += [Text(line, style=QUIET_STYLE) for line in _as_it_ran(planned, planned.run)]
    if out is not None:
        parts.append(Text(f"Files: {out}", style=QUIET_STYLE))
    return Group(*parts)


def roles_text(planned: PlannedJob) -> str:
    """`5 workers, 3 servers`."""
    workers, servers = planned.workers, planned.servers
    return f"{count_text(workers, 'worker')}, {count_text(servers, 'server')}"


def gain_text(gain: WorkerGain) -> str:
    """When more workers pay, in one or two sentences."""
    if not gain.pays:
        alone, several = _told_apart(gain.alone_s, gain.next_s or gain.epoch_s)
        return (
            f"More workers do not pay: one machine alone takes {alone} per epoch (predicted, "
            f"without exchange), several take {several} or more."
        )
    alone = duration_text(gain.alone_s)
    ratio = gain.alone_s / gain.epoch_s
    text = (
        f"More workers pay up to {gain.up_to:,}: {duration_text(gain.epoch_s)} per epoch instead "
        f"of {alone} on one machine alone, {ratio:.1f} times as fast."
    )
    if gain.nearly < gain.up_to:
        text += f" {count_text(gain.nearly, 'worker')} nearly suffice: at most a tenth slower."
    if gain.next_s is not None:
        text += f" Even more take {duration_text(gain.next_s)}."
    return text


def _heading(planned: PlannedJob) -> list[Text]:
    """What is recommended, and the best that several machines can do if that is not it."""
    roles = f"{roles_text(planned)} on {count_text(planned.fleet.size, 'machine')}"
    if planned.gain.pays:
        return [_headline(roles, duration_text(planned.best.epoch_s))]
    alone, several = _told_apart(planned.gain.alone_s, planned.best.epoch_s)
    of_several = Text(f"  the best of several: {roles}, {several}", style=QUIET_STYLE)
    return [_headline("one machine alone", alone), of_several]


def _headline(configuration: str, epoch: str) -> Text:
    parts = (configuration, "bold"), ": ", (f"{epoch} per epoch", "bold"), ", predicted"
    return Text.assemble(("● ", job_colour(0)), *parts)


def _told_apart(shorter_s: float, longer_s: float) -> tuple[str, str]:
    """Two times as text, with more digits where they would read the same."""
    texts = duration_text(shorter_s), duration_text(longer_s)
    if texts[0] != texts[1]:
        return texts
    return f"{1e3 * shorter_s:.3g} ms", f"{1e3 * longer_s:.3g} ms"


def _types(planned: PlannedJob) -> Table:
    table = result_table()
    for title in ("type", "machines", "workers", "data blocks", "servers", "model blocks"):
        table.add_column(title, justify="left" if title == "type" else "right", no_wrap=True)
    for part in planned.parts():
        table.add_row(
            *(part.name, f"{part.machines:,}", f"{part.workers:,}", _each(part.data_blocks)),
            *(f"{part.servers:,}", _each(part.model_blocks)),
        )
    return table


def _each(blocks: tuple[int, int]) -> str:
    fewest, most = blocks
    if most == 0:
        return "-"
    return f"{most:,} each" if fewest == most else f"{fewest:,} to {most:,} each"


def _curve(planned: PlannedJob) -> list[RenderableType]:
    """The best epoch time over numbers of workers, evenly spaced, with the minimum marked."""
    curve = planned.curve
    low, high = int(curve.workers[0]), int(curve.workers[-1])
    counts = np.linspace(low, high, max(2 * CURVE_WIDTH, 2))
    times_s = np.interp(counts, curve.workers, curve.epoch_s)
    top_s = min(float(times_s.max()), SHOWN_ABOVE_BEST * planned.best.epoch_s)
    shown = [value if value <= top_s else math.nan for value in times_s.tolist()]
    lines = braille_curve(shown, CURVE_WIDTH, CURVE_HEIGHT)
    labels = [duration_text(top_s), *[""] * (CURVE_HEIGHT - 2), duration_text(float(times_s.min()))]
    place = round((planned.workers - low) / max(high - low, 1) * (CURVE_WIDTH - 1))
    quiet = QUIET_STYLE
    drawn: list[RenderableType] = [Text("seconds of an epoch over workers", style=quiet)]
    for label, line in zip(labels, lines, strict=True):
        drawn.append(Text.assemble((f"{label:>8} ", quiet), (line, job_colour(0))))
    drawn.append(Text.assemble(" " * (9 + place), ("▲", "bold")))
    axis = f"{low}".ljust(CURVE_WIDTH - len(str(high))) + str(high)
    drawn.append(Text(" " * 9 + axis, style=quiet))
    return drawn


def _as_it_ran(planned: PlannedJob, run: AsItRan) -> list[str]:
    ratio = run.predicted_s / planned.recommended_s
    return [
        f"The run: {count_text(run.workers, 'worker')}, {count_text(run.servers, 'server')} on "
        f"{count_text(run.machines, 'machine')}, {duration_text(run.predicted_s)} predicted, "
        f"{duration_text(run.measured_s)} measured.",
        f"The plan is {ratio:.2f} times as fast, both as predicted.",
    ]
