"""A driver as a live one would be, with machines that are not there and a clock that is set."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from motet.domain.actions import Migrate, Preempt, Start
from motet.domain.cluster import ClusterSpec
from motet.domain.policy import Policy
from motet.domain.snapshot import Placement, Queues
from motet.domain.units import NEVER_US
from motet.engine.decision_log import DecisionLog
from motet.engine.state import ClusterState
from motet.engine.step import Engine
from motet.placement.planner import Planner


@dataclass
class SetClock:
    """A `Clock` that stands until it is set."""

    time_us: int = 0

    def now_us(self) -> int:
        return self.time_us


@dataclass
class PretendedMachines:
    """A `Launcher` whose jobs need so much time on their GPUs and then say that they are done."""

    clock: SetClock
    needed_us: dict[int, int]
    since_us: dict[int, int] = field(default_factory=dict)

    def start(self, job: int, placement: Placement) -> None:
        del placement
        self.since_us[job] = self.clock.now_us()

    def preempt(self, job: int) -> None:
        self.needed_us[job] -= self.clock.now_us() - self.since_us.pop(job)

    def migrate(self, job: int, placement: Placement) -> None:
        self.preempt(job)
        self.start(job, placement)

    def done_at_us(self) -> dict[int, int]:
        return {job: since + self.needed_us[job] for job, since in self.since_us.items()}


def drive(
    rows: list[tuple[int, int, int]], cluster: ClusterSpec, policy: Policy, planner: Planner
) -> DecisionLog:
    """Run jobs of (submit, duration, GPUs), in microseconds, to their ends."""
    clock, log = SetClock(), DecisionLog()
    machines = PretendedMachines(clock, {number: row[1] for number, row in enumerate(rows)})
    state = ClusterState(cluster, policy.memory_columns, {}, Queues())
    engine = Engine(policy, planner, state, log)
    arrivals = [(row[0], number) for number, row in enumerate(rows)]
    heapq.heapify(arrivals)
    recheck_us = NEVER_US
    while True:
        ends = machines.done_at_us()
        clock.time_us = min([recheck_us, *ends.values(), *(time_us for time_us, _ in arrivals[:1])])
        if clock.time_us == NEVER_US:
            return log
        state.advance(clock.now_us())
        for job in sorted(job for job, end_us in ends.items() if end_us == clock.now_us()):
            del machines.since_us[job]
            log.finished(clock.now_us(), job, 0)
            state.finished(job)
        while arrivals and arrivals[0][0] == clock.now_us():
            _, number = heapq.heappop(arrivals)
            gpus = rows[number][2]
            state.submitted(
                {
                    "number": number,
                    "submit_us": clock.now_us(),
                    "gpus": gpus,
                    "min_workers": gpus,
                    "max_workers": gpus,
                }
            )
        decision, actions = engine.decide()
        for action in actions:
            match action:
                case Start(job, placement):
                    machines.start(job, placement)
                case Preempt(job):
                    machines.preempt(job)
                case Migrate(job, placement):
                    machines.migrate(job, placement)
        recheck_us = decision.recheck_at_us
