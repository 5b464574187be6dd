"""A driver as a live one would be, with machines that are not there and a clock that is set.

Actions take time: a job that is stopped holds its slots for `grace_us`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from motet.domain.actions import Action, Migrate, Preempt, Start
from motet.domain.cluster import ClusterSpec
from motet.domain.events import Event, Finished, Resized, Started, Stopped, Submitted, Tick
from motet.domain.policy import Policy
from motet.domain.snapshot import Placement, Queues
from motet.domain.units import NEVER_US
from motet.engine.ports import Journal
from motet.engine.state import ClusterState
from motet.engine.step import Engine
from motet.placement.planner import Planner

FULL_SPEED = 10_000


@dataclass
class PretendedMachines:
    """Processes of jobs that need so much time on their slots and then say that they are done."""

    needed_us: dict[int, int]
    grace_us: int = 0
    held: dict[int, Placement] = field(default_factory=dict)
    since_us: dict[int, int] = field(default_factory=dict)
    coming: list[tuple[int, int, Event, Callable[[], object]]] = field(default_factory=list)

    def carry_out(self, action: Action, now_us: int) -> None:
        match action:
            case Start(job, placement):
                assert job not in self.held, f"job {job} holds slots already"
                self.held[job], self.since_us[job] = placement, now_us
                self._report(now_us, Started(job, now_us, FULL_SPEED, FULL_SPEED))
            case Preempt(job):
                self._pause(job, now_us)
                self._report(now_us + self.grace_us, Stopped(job), lambda: self.held.pop(job))
            case Migrate(job, placement):
                self._pause(job, now_us)
                self.since_us[job] = now_us
                moved = Resized(job, now_us, FULL_SPEED, FULL_SPEED)
                self._report(
                    now_us + self.grace_us, moved, lambda: self.held.update({job: placement})
                )

    def next_us(self) -> int:
        return min(
            [*(time_us for time_us, *_ in self.coming), *self._ends().values()], default=NEVER_US
        )

    def happened(self, now_us: int) -> list[Event]:
        """Jobs that are done, then what became of actions."""
        events: list[Event] = []
        for job in sorted(job for job, end_us in self._ends().items() if end_us <= now_us):
            del self.since_us[job]
            self.held.pop(job)
            self.coming = [each for each in self.coming if each[2] != Stopped(job)]
            events.append(Finished(job))
        due = [each for each in self.coming if each[0] <= now_us]
        self.coming = [each for each in self.coming if each[0] > now_us]
        for _, _, event, apply in sorted(due, key=lambda each: each[:2]):
            apply()
            events.append(event)
        return events

    def _report(
        self, time_us: int, event: Event, apply: Callable[[], object] = lambda: None
    ) -> None:
        self.coming.append((time_us, len(self.coming), event, apply))

    def _pause(self, job: int, now_us: int) -> None:
        if job in self.since_us:
            self.needed_us[job] -= now_us - self.since_us.pop(job)

    def _ends(self) -> dict[int, int]:
        return {job: since + self.needed_us[job] for job, since in self.since_us.items()}


def drive(
    rows: Sequence[tuple[int, int, int]],
    cluster: ClusterSpec,
    policy: Policy,
    planner: Planner,
    journal: Journal,
    grace_us: int = 0,
    watch: Callable[[PretendedMachines], None] = lambda machines: None,
) -> None:
    """Run jobs of (submit, duration, GPUs), in microseconds, to their ends."""
    machines = PretendedMachines({number: row[1] for number, row in enumerate(rows)}, grace_us)
    state = ClusterState(cluster, policy.memory_columns, {}, Queues())
    engine = Engine(policy, planner, state, journal)
    arrivals = sorted((row[0], number) for number, row in enumerate(rows))
    while True:
        arrival_us = arrivals[0][0] if arrivals else NEVER_US
        now_us = min(engine.recheck_at_us, machines.next_us(), arrival_us)
        if now_us == NEVER_US:
            return
        events = machines.happened(now_us)
        while arrivals and arrivals[0][0] == now_us:
            _, number = arrivals.pop(0)
            events.append(Submitted(number, {"submit_us": now_us, "gpus": rows[number][2]}))
        if engine.recheck_at_us == now_us:
            events.append(Tick())
        for action in engine.step(now_us, events):
            machines.carry_out(action, now_us)
        watch(machines)
