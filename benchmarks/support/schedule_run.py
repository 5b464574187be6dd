"""Carries out a schedule of jobs, on hosts or simulated: starts, pauses, moves, and their log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Protocol

from motet.estimate.colocation.group_time import SubtaskTimes, job_iteration_s
from support.schedule_choices import Choose, Place, ProfiledJob, Running, comm_growth

_ALMOST = 1e-9


class Ground(Protocol):
    """Where jobs run."""

    def now_s(self) -> float:
        """Seconds since the beginning."""
        ...

    def start(self, job: int, place: Place) -> None:
        """From where it was paused, if it was."""
        ...

    def iterations_left(self) -> list[float]:
        """Of each job."""
        ...

    def move_s(self) -> float:
        """For how long a job that moves does not train, as far as that is known."""
        ...

    def pause(self, jobs: Sequence[int]) -> list[int]:
        """Returns when these jobs have stopped after a PUSH; those of them that have ended."""
        ...

    def next_ends(self) -> list[int]:
        """Wait until jobs have ended: at least one."""
        ...


@dataclass(frozen=True)
class Stay:
    """A job on its machines, from its start there to its pause or end."""

    job: int
    place: Place
    began_s: float
    ended_s: float
    is_last: bool


@dataclass(frozen=True)
class ScheduleLog:
    """All stays of all jobs, by their ends. `decisions_s`: what each choice of groups took."""

    stays: tuple[Stay, ...]
    decisions_s: tuple[float, ...]

    @property
    def ends_s(self) -> list[float]:
        """When each job ended, by job."""
        last = [stay for stay in self.stays if stay.is_last]
        return [stay.ended_s for stay in sorted(last, key=lambda stay: stay.job)]

    @property
    def jct_s(self) -> float:
        """Mean; all jobs are there from the beginning."""
        return mean(self.ends_s)

    @property
    def makespan_s(self) -> float:
        """Until the last job has ended."""
        return max(self.ends_s)

    @property
    def moves(self) -> int:
        """How many times a job was paused."""
        return sum(not stay.is_last for stay in self.stays)

    def most_beside(self) -> float:
        """Jobs at a time per machine in use, a mean over machines and time."""
        held = sum(len(stay.place) * (stay.ended_s - stay.began_s) for stay in self.stays)
        return held / sum(_covered_s(spans) for spans in self._spans().values())

    def _spans(self) -> dict[int, list[tuple[float, float]]]:
        found: dict[int, list[tuple[float, float]]] = {}
        for stay in self.stays:
            for machine in stay.place:
                found.setdefault(machine, []).append((stay.began_s, stay.ended_s))
        return found


def run_schedule(ground: Ground, now: Running, choose: Choose) -> ScheduleLog:
    """Decide at the beginning and after each end, until all jobs have ended."""
    began_s: dict[int, float] = {}
    stays: list[Stay] = []
    decisions_s: list[float] = []

    def leave(jobs: Sequence[int], *, is_last: bool) -> None:
        for job in jobs:
            place = now.places.pop(job)
            stays.append(Stay(job, place, began_s.pop(job), ground.now_s(), is_last))
            if is_last:
                now.ended[job] = place
            else:
                now.waiting.append(job)

    now.waiting = list(range(len(now.jobs)))
    while now.places or now.waiting:
        now.iterations_left, now.move_s = ground.iterations_left(), ground.move_s()
        asked_s = ground.now_s()
        wanted = choose(now)
        decisions_s.append(ground.now_s() - asked_s)
        if not wanted:
            raise ValueError(f"no job of {now.waiting} runs")
        now.is_first, now.ended = False, {}
        moved = [job for job, place in now.places.items() if wanted.get(job) != place]
        ended = ground.pause(moved) if moved else []
        leave(ended, is_last=True)
        leave([job for job in moved if job not in ended], is_last=False)
        for job, place in wanted.items():
            if job not in now.places and job not in ended:
                now.waiting.remove(job)
                now.places[job], began_s[job] = place, ground.now_s()
                ground.start(job, place)
        if now.places:
            leave(ground.next_ends(), is_last=True)
    return ScheduleLog(tuple(stays), tuple(decisions_s))


class SimulatedGround:
    """By eq. 4.1, the code of the simulator: all jobs of a group end an iteration in its time, or
    later by their own gaps.

    A job that has started takes `start_s` before it trains, and no turns in the meantime.
    `hosts_per_machine`: COMM is longer on more machines as far as its hosts hold less of the model
    (`comm_growth`); None: it is not, as in eq. 4.1. `measured`: of a job on so many machines, which
    counts instead of what follows from its steps on one.
    """

    def __init__(
        self,
        jobs: Sequence[ProfiledJob],
        start_s: float,
        hosts_per_machine: int | None = None,
        measured: Mapping[tuple[int, int], SubtaskTimes] | None = None,
    ) -> None:
        self._jobs, self._start_s, self._now_s = jobs, start_s, 0.0
        self._hosts_per_machine, self._measured = hosts_per_machine, measured or {}
        self._left = [float(job.iterations) for job in jobs]
        self._trains_at_s: dict[int, float] = {}
        self._places: dict[int, Place] = {}

    def now_s(self) -> float:
        """See Ground."""
        return self._now_s

    def start(self, job: int, place: Place) -> None:
        """See Ground."""
        self._places[job], self._trains_at_s[job] = place, self._now_s + self._start_s

    def iterations_left(self) -> list[float]:
        """See Ground."""
        return list(self._left)

    def move_s(self) -> float:
        """See Ground."""
        return self._start_s

    def pause(self, jobs: Sequence[int]) -> list[int]:
        """Takes no time."""
        for job in jobs:
            del self._places[job]
        return []

    def next_ends(self) -> list[int]:
        """See Ground."""
        while True:
            period_s = {
                job: self._iteration_s(job, place)
                for job, place in self._places.items()
                if self._trains_at_s[job] <= self._now_s
            }
            starts = [each for each in self._trains_at_s.values() if each > self._now_s]
            ends = [self._now_s + self._left[job] * each for job, each in period_s.items()]
            next_s = min([*starts, *ends])
            for job, each in period_s.items():
                self._left[job] -= (next_s - self._now_s) / each
            self._now_s = next_s
            ended = [job for job in period_s if self._left[job] <= _ALMOST]
            for job in ended:
                del self._places[job]
            if ended:
                return ended

    def _iteration_s(self, job: int, place: Place) -> float:
        group = [
            self._steps(each, len(place))
            for each, of in self._places.items()
            if of == place and self._trains_at_s[each] <= self._now_s
        ]
        return job_iteration_s(self._steps(job, len(place)), group)

    def _steps(self, job: int, machines: int) -> SubtaskTimes:
        if (job, machines) in self._measured:
            return self._measured[job, machines]
        times, hosts = self._jobs[job].times, self._hosts_per_machine
        growth = 1.0 if hosts is None else comm_growth(machines, hosts)
        return times._replace(comp_s=times.comp_s / machines, comm_s=times.comm_s * growth)


def predicted(
    jobs: Sequence[ProfiledJob],
    machines: int,
    memory_bytes: float,
    choose: Choose,
    start_s: float,
    hosts_per_machine: int | None = None,
    measured: Mapping[tuple[int, int], SubtaskTimes] | None = None,
) -> ScheduleLog:
    """The same schedule, simulated; see SimulatedGround."""
    ground = SimulatedGround(jobs, start_s, hosts_per_machine, measured)
    now = Running(jobs, machines, memory_bytes, hosts_per_machine=hosts_per_machine)
    return run_schedule(ground, now, choose)


def _covered_s(spans: Sequence[tuple[float, float]]) -> float:
    total_s, until_s = 0.0, 0.0
    for began_s, ended_s in sorted(spans):
        total_s += max(ended_s - max(began_s, until_s), 0.0)
        until_s = max(until_s, ended_s)
    return total_s
