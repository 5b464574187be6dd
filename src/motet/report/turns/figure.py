"""The turns of machines as a figure: two lanes per machine, bars in the colours of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from motet.domain.units import SECOND_US
from motet.report.rendering.figure_parts import LEGEND, new_panels, save
from motet.report.rendering.palette import job_colour
from motet.report.turns.machine_turns import RESOURCES, MachineTurns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LANE = 0.8
_PUSH_ALPHA = 0.55


def write_turns_figure(machines: Sequence[MachineTurns], path: Path) -> None:
    """Write the figure as PNG. Raises OSError."""
    save(turns_figure(machines), path)


def turns_figure(machines: Sequence[MachineTurns]) -> Figure:
    """A panel per machine, of the same length of time; PUSH is paler than PULL."""
    from matplotlib.patches import Patch

    jobs = sorted({job for each in machines for job in each.jobs}, key=lambda it: (len(it), it))
    colours = {job: job_colour(place) for place, job in enumerate(jobs)}
    names = {job: name for each in machines for job, name in each.names.items()}
    subtitle = "COMP holds the CPU, PULL and (paler) PUSH the network; idle time is white"
    figure, panels = new_panels("Subtasks of jobs that share machines", subtitle, len(machines))
    for axes, turns in zip(panels, machines, strict=True):
        _draw(axes, turns, colours)
    panels[-1].set_xlabel("ms")
    told = [f"{job} {names.get(job, '')}".strip() for job in jobs]
    handles = [Patch(color=colours[job]) for job in jobs]
    figure.legend(handles, told, loc="outside right upper", **LEGEND)
    return figure


def _draw(axes: Axes, turns: MachineTurns, colours: dict[str, str]) -> None:
    for lane, resource in enumerate(reversed(RESOURCES)):
        for each in turns.of(resource):
            axes.broken_barh(
                [((each.start_us - turns.begin_us) / 1e3, (each.end_us - each.start_us) / 1e3)],
                (lane - _LANE / 2, _LANE),
                facecolors=colours[each.job],
                alpha=_PUSH_ALPHA if each.kind == "push" else 1.0,
            )
    uses = [f"{each} {turns.use(each):.0%}" for each in reversed(RESOURCES)]
    axes.set_yticks(range(len(RESOURCES)), uses)
    axes.set_ylim(-0.6, len(RESOURCES) - 0.4)
    axes.set_xlim(0, max((turns.end_us - turns.begin_us) / SECOND_US * 1e3, 1.0))
    axes.set_ylabel(turns.machine)
