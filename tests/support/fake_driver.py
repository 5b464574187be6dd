"""A driver as a live one would be, with machines that are not there and a clock that is set.

Actions take time: a job that is stopped holds its slots for `grace_us`. Jobs may crash, and a job
that is preempted may finish in its grace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from motet.domain.actions import Action, Migrate, Preempt, Start
from motet.domain.cluster import ClusterSpec
from motet.domain.events import (
    Cancelled,
    Event,
    Failed,
    Finished,
    Resized,
    Resumed,
    Started,
    Stopped,
    Submitted,
    Suspended,
    Tick,
)
from motet.domain.policy import Policy
from motet.domain.snapshot import Placement, Queues
from motet.domain.units import FULL_SPEED, NEVER_US
from motet.engine.ports import Journal
from motet.engine.state.cluster_state import ClusterState
from motet.engine.step import Engine
from motet.placement.planner import Planner

Report: TypeAlias = Started | Resized | Stopped
Crash: TypeAlias = tuple[int, Stopped | Failed]


@dataclass
class PretendedMachines:
    """Processes of jobs that need so much time on their slots and then say that they are done.

    `crashes`: (time, event) of jobs whose processes end then, if there are any. `trains_in_grace`:
    whether a preempted job makes progress until its grace is over.
    """

    needed_us: dict[int, int]
    grace_us: int = 0
    crashes: list[Crash] = field(default_factory=list)
    trains_in_grace: bool = False
    held: dict[int, Placement] = field(default_factory=dict)
    since_us: dict[int, int] = field(default_factory=dict)
    coming: list[tuple[int, Report, Callable[[], object]]] = field(default_factory=list)

    def carry_out(self, action: Action, now_us: int) -> None:
        match action:
            case Start(job, placement):
                assert job not in self.held, f"job {job} holds slots already"
                self.held[job], self.since_us[job] = placement, now_us
                self._report(now_us, Started(job, now_us, FULL_SPEED, FULL_SPEED))
            case Preempt(job):
                if not self.trains_in_grace:
                    self._pause(job, now_us)
                stop_us = now_us + self.grace_us
                self._report(stop_us, Stopped(job), lambda: self._end(job, stop_us))
            case Migrate(job, placement):
                self._pause(job, now_us)
                self.since_us[job] = now_us
                moved = Resized(job, now_us, FULL_SPEED, FULL_SPEED)
                self._report(
                    now_us + self.grace_us, moved, lambda: self.held.update({job: placement})
                )

    def next_us(self) -> int:
        times = [time_us for time_us, *_ in (*self.coming, *self.crashes)]
        return min([*times, *self._ends().values()], default=NEVER_US)

    def happened(self, now_us: int) -> list[Event]:
        """Jobs that are done, those that crash, then what became of actions."""
        events: list[Event] = []
        for job in sorted(job for job, end_us in self._ends().items() if end_us <= now_us):
            self._end(job, now_us)
            events.append(Finished(job))
        for _, crash in [each for each in self.crashes if each[0] <= now_us]:
            if crash.job in self.held:
                self._end(crash.job, now_us)
                events.append(crash)
        self.crashes = [each for each in self.crashes if each[0] > now_us]
        due = [each for each in self.coming if each[0] <= now_us]
        self.coming = [each for each in self.coming if each[0] > now_us]
        for _, event, apply in sorted(due, key=lambda each: each[0]):
            apply()
            events.append(event)
        return events

    def _report(
        self, time_us: int, event: Report, apply: Callable[[], object] = lambda: None
    ) -> None:
        self.coming.append((time_us, event, apply))

    def _end(self, job: int, now_us: int) -> None:
        """Its processes are gone, and with them what they would have reported."""
        self._pause(job, now_us)
        self.held.pop(job)
        self.coming = [each for each in self.coming if each[1].job != job]

    def _pause(self, job: int, now_us: int) -> None:
        if job in self.since_us:
            self.needed_us[job] -= now_us - self.since_us.pop(job)

    def _ends(self) -> dict[int, int]:
        return {job: since + self.needed_us[job] for job, since in self.since_us.items()}


@dataclass
class _Users:
    """Jobs that are there, and those of them that are suspended."""

    active: set[int] = field(default_factory=set)
    suspended: set[int] = field(default_factory=set)

    def take(self, event: Event) -> bool:
        """Whether the event has an effect; interventions in jobs that have ended have none."""
        match event:
            case Submitted(job):
                self.active.add(job)
            case Suspended(job):
                if job not in self.active - self.suspended:
                    return False
                self.suspended.add(job)
            case Resumed(job):
                if job not in self.suspended:
                    return False
                self.suspended.remove(job)
            case Finished(job) | Failed(job) | Cancelled(job):
                if job not in self.active:
                    return False
                self.active.remove(job)
                self.suspended.discard(job)
        return True


def drive(
    rows: Sequence[tuple[int, int, int]],
    cluster: ClusterSpec,
    policy: Policy,
    planner: Planner,
    journal: Journal,
    grace_us: int = 0,
    watch: Callable[[PretendedMachines], None] = lambda machines: None,
    crashes: Sequence[Crash] = (),
    *,
    trains_in_grace: bool = False,
    timeline: Sequence[tuple[int, Event]] = (),
) -> None:
    """Run jobs of (submit, duration, GPUs), in microseconds, to their ends.

    `timeline`: events of users and machines, ordered by time.
    """
    needed_us = {number: row[1] for number, row in enumerate(rows)}
    machines = PretendedMachines(needed_us, grace_us, [*crashes], trains_in_grace)
    state = ClusterState(cluster, policy.memory_columns, {}, Queues())
    engine = Engine(policy, planner, state, journal)
    outside, users = [*timeline], _Users()
    arrivals = sorted((row[0], number) for number, row in enumerate(rows))
    while True:
        arrival_us = arrivals[0][0] if arrivals else NEVER_US
        outside_us = outside[0][0] if outside else NEVER_US
        now_us = min(engine.recheck_at_us, machines.next_us(), arrival_us, outside_us)
        if now_us == NEVER_US:
            return
        events = machines.happened(now_us)
        while arrivals and arrivals[0][0] == now_us:
            _, number = arrivals.pop(0)
            events.append(Submitted(number, {"submit_us": now_us, "gpus": rows[number][2]}))
        while outside and outside[0][0] == now_us:
            events.append(outside.pop(0)[1])
        events = [event for event in events if users.take(event)]
        if engine.recheck_at_us == now_us:
            events.append(Tick())
        for action in engine.step(now_us, events):
            machines.carry_out(action, now_us)
        watch(machines)
