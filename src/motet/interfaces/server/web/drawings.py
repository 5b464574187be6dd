"""Positions of what pages draw as SVG: attempts on a time axis, slots of machines. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from motet.insight.wording import counted
from motet.live.jobs.job import LiveJob
from motet.live.master.state import LiveState
from motet.live.read_tables.rows import AttemptRow

COLOURS = 8
_HOUR_S = 3600
_STEPS_S = (*(1, 5, 15, 60, 300, 900, 1800), *(_HOUR_S * each for each in (1, 3, 6, 24, 48, 168)))
_MOST_TICKS = 6


@dataclass(frozen=True, slots=True)
class Bar:
    """An attempt; `x`, `width`: per cent of the period. `title`: for the pointer."""

    x: float
    width: float
    colour: int
    title: str


@dataclass(frozen=True, slots=True)
class AxisTick:
    """A time on the axis; `x`: per cent of the period."""

    x: float
    text: str


@dataclass(frozen=True, slots=True)
class HeldSlots:
    """Adjoining slots of a machine from `first` on that one job holds; `job` 0: that are free."""

    job: int
    colour: int
    first: int
    slots: int


@dataclass(frozen=True, slots=True)
class MachineSlots:
    """The slots of a machine: the number and colour of the job of each, 0 and -1 for a free one;
    one that jobs share appears for each of them.

    `condition`: "up", or why it takes no jobs. `size`: the number of slots; 0: no job shares any.
    """

    machine: str
    condition: str
    jobs: tuple[tuple[int, int], ...]
    size: int = 0

    @property
    def slots(self) -> int:
        """How many it has."""
        return self.size or len(self.jobs)

    @property
    def held(self) -> list[HeldSlots]:
        """The same job by job."""
        found, first = [], 0
        for (job, colour), slots in groupby(self.jobs):
            found.append(HeldSlots(job, colour, first, count := len([*slots])))
            first += count
        return found

    @property
    def free(self) -> int:
        """How many have no job."""
        return sum(job == 0 for job, _ in self.jobs)


def colour_of(job: int) -> int:
    """The number of a job's colour, the same on all pages."""
    return job % COLOURS


def bars(
    attempts: Iterable[AttemptRow], begin_us: int, end_us: int, axis_end_us: int = 0
) -> list[Bar]:
    """The attempts of one job within a period. `axis_end_us`: of an axis that goes on after it."""
    period = max(max(end_us, axis_end_us) - begin_us, 1)
    found = []
    for each in attempts:
        from_us = max(each.requested_us, begin_us)
        to_us = min(each.ended_us or end_us, end_us)
        x = 100 * (from_us - begin_us) / period
        width = max(100 * (to_us - from_us) / period, 0.15)
        what = each.stop_cause or each.outcome or "runs"
        slots = counted(each.processes, "slot")
        title = f"attempt {each.attempt}: {slots}, {what.replace('_', ' ')}"
        found.append(Bar(round(x, 3), round(width, 3), colour_of(each.job), title))
    return found


def ticks(begin_us: int, end_us: int) -> list[AxisTick]:
    """Round times of a period, in the local time of the server."""
    begin_s, period_s = begin_us / 1e6, max((end_us - begin_us) / 1e6, 1e-6)
    step_s = next((each for each in _STEPS_S if period_s / each <= _MOST_TICKS), _STEPS_S[-1])
    form = "%H:%M:%S" if step_s < 60 else "%H:%M" if period_s < 24 * 3600 else "%m-%d %H:%M"
    first = (int(begin_s) // step_s + 1) * step_s
    times = range(first, int(end_us / 1e6) + 1, step_s)
    return [
        AxisTick(
            round(100 * (each - begin_s) / period_s, 3),
            datetime.fromtimestamp(each).astimezone().strftime(form),
        )
        for each in times
    ]


def machine_slots(state: LiveState) -> list[MachineSlots]:
    """All machines that have not left, with the jobs on their slots."""
    if state.cluster is None:
        return []
    held: list[list[int]] = [[] for _ in state.cluster.names]
    for job in state.active.values():
        attempt = job.attempts[-1]
        for machine, count in zip(*attempt.placement, strict=True):
            held[machine] += [job.number] * count
    return [
        MachineSlots(name, _condition(state, name, condition), _filled(jobs, slots), slots)
        for name, slots, condition, jobs in zip(
            state.cluster.names, state.cluster.slots, state.conditions, held, strict=True
        )
        if condition != "gone"
    ]


def _condition(state: LiveState, name: str, condition: str) -> str:
    """A drain in words; else the condition."""
    if condition != "up" or not state.drains.has_begun(name):
        return condition
    return f"drained: {state.drains.of[name].reason}"


def _filled(jobs: Sequence[int], slots: int) -> tuple[tuple[int, int], ...]:
    taken = [(job, colour_of(job)) for job in sorted(jobs)]
    return (*taken, *[(0, -1)] * (slots - len(taken)))


def period_of(job: LiveJob, now_us: int) -> tuple[int, int]:
    """From the submission of a job to its end, or to now."""
    return job.submitted_us, max(job.ended_us or now_us, job.submitted_us + 1)
