"""Positions of the subtasks of machines that jobs share, which the page of machines draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from motet.domain.units import SECOND_US
from motet.interfaces.server.turns.turn_record import turns_of
from motet.interfaces.server.web.drawings import COLOURS, colour_of
from motet.live.master.requests import Workplace
from motet.report.turns.machine_turns import RESOURCES, MachineTurns

PERIOD_S = 1.0
MOST_BARS = 2000
"""Of a lane; more are too narrow to be seen."""


@dataclass(frozen=True, slots=True)
class LaneBar:
    """A subtask; `x`, `width`: per cent of the period."""

    x: float
    width: float
    colour: int
    title: str


@dataclass(frozen=True, slots=True)
class Lane:
    """What held one resource; `use`: the part of the period, per cent."""

    resource: str
    use: int
    bars: tuple[LaneBar, ...]


@dataclass(frozen=True, slots=True)
class MachineLanes:
    """`period_ms`: how long the lanes are, `until`: when they end; `jobs`: id, colour and name."""

    machine: str
    period_ms: int
    until: str
    lanes: tuple[Lane, ...]
    jobs: tuple[tuple[str, int, str], ...]


def turns_of_machines(workplace: Workplace, machines: Sequence[str]) -> list[MachineTurns]:
    """Of the machines that jobs have shared; reads a file for each."""
    found = (turns_of(workplace, machine, PERIOD_S) for machine in machines)
    return [turns for turns in found if turns.turns]


def machine_lanes(turns: MachineTurns) -> MachineLanes:
    """Where the subtasks of a machine are drawn."""
    return MachineLanes(
        turns.machine,
        (turns.end_us - turns.begin_us) // 1000,
        datetime.fromtimestamp(turns.end_us / SECOND_US).astimezone().strftime("%H:%M:%S"),
        tuple(
            Lane(each, round(100 * turns.use(each)), tuple(_bars(turns, each)))
            for each in RESOURCES
        ),
        tuple((job, _colour(job), turns.names.get(job, "")) for job in turns.jobs),
    )


def _bars(turns: MachineTurns, resource: str) -> list[LaneBar]:
    period_us = max(turns.end_us - turns.begin_us, 1)
    bars = [
        LaneBar(
            round(100 * (each.start_us - turns.begin_us) / period_us, 3),
            round(max(100 * (each.end_us - each.start_us) / period_us, 0.02), 3),
            _colour(each.job),
            f"job {each.job}: {each.kind.upper()} {(each.end_us - each.start_us) / 1000:.1f} ms",
        )
        for each in turns.turns
        if each.resource == resource
    ]
    return bars[-MOST_BARS:]


def _colour(job: str) -> int:
    return colour_of(int(job)) if job.isdecimal() else len(job) % COLOURS
