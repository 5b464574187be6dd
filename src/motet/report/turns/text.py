"""The turns of a machine in a terminal: a line for the CPU and one for the network."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from itertools import cycle
from string import ascii_uppercase

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from motet.domain.units import SECOND_US
from motet.report.rendering.palette import QUIET_STYLE, job_colour
from motet.report.rendering.quantities import duration_text
from motet.report.turns.machine_turns import (
    RESOURCES,
    MachineTurns,
    Resource,
    SubtaskTurn,
    dominant_jobs,
)

_LABEL_WIDTH, _MOST_WIDTH, _FEWEST_COLUMNS = 9, 110, 10
_IDLE = "·"


class TurnsScreen:
    """A rich renderable. Every column is the same length of time, with the letter of the job that
    held most of it: small for PUSH. A dot: it was idle.
    """

    def __init__(self, turns: MachineTurns) -> None:
        self._turns = turns

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Heading, CPU, network, jobs."""
        turns = self._turns
        if not turns.turns:
            yield Text(f"{turns.machine}: no job has shared it", QUIET_STYLE)
            return
        letters = dict(zip(turns.jobs, cycle(ascii_uppercase), strict=False))
        columns = max(min(options.max_width, _MOST_WIDTH) - _LABEL_WIDTH, _FEWEST_COLUMNS)
        yield _heading(turns)
        for resource in RESOURCES:
            yield _line(turns, resource, letters, columns)
        for job, letter in letters.items():
            yield _job(turns, job, letter)


def _heading(turns: MachineTurns) -> Text:
    end = datetime.fromtimestamp(turns.end_us / SECOND_US).astimezone().strftime("%H:%M:%S")
    period = duration_text((turns.end_us - turns.begin_us) / SECOND_US)
    text = Text(turns.machine, "bold")
    uses = ", ".join(f"{each} in use {turns.use(each):.0%}" for each in RESOURCES)
    return text.append(f"  {period} until {end}: {uses}", "not bold")


def _line(
    turns: MachineTurns, resource: Resource, letters: Mapping[str, str], columns: int
) -> Text:
    line = Text(resource.ljust(_LABEL_WIDTH), QUIET_STYLE)
    for each in dominant_jobs(turns, resource, columns):
        line.append(*_cell(each, turns, letters))
    return line


def _cell(
    turn: SubtaskTurn | None, turns: MachineTurns, letters: Mapping[str, str]
) -> tuple[str, str]:
    if turn is None:
        return _IDLE, QUIET_STYLE
    letter = letters[turn.job]
    colour = job_colour(turns.jobs.index(turn.job))
    return letter.lower() if turn.kind == "push" else letter, f"{colour} reverse"


def _job(turns: MachineTurns, job: str, letter: str) -> Text:
    text = Text.assemble((letter, f"{job_colour(turns.jobs.index(job))} reverse"), " ")
    name = turns.names.get(job, job)
    text.append(f"job {job} {name}" if name != job else f"job {job}")
    comp, comm = (turns.held_us(job, each) / SECOND_US for each in RESOURCES)
    return text.append(f"  COMP {duration_text(comp)}, COMM {duration_text(comm)}", QUIET_STYLE)
