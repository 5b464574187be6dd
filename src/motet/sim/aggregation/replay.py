"""Jobs arrive, are measured, move to the shared pool and end, as pMaster would carry it out.

A new job is measured on Aggregators of its own, as many as its user's servers (the seed's section
4.3.3.1). Then the planner assigns it to the pool, or lets it wait on those until the period ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import chain

from motet.aggregation.planner.clusters import ClusteredPool, ScalingRules
from motet.aggregation.planner.pool import AggregatorPool
from motet.domain.units import SECOND_US
from motet.sim.aggregation.contention import measured_losses, with_own_aggregator
from motet.sim.aggregation.history import PoolStep, ServiceHistory
from motet.sim.aggregation.jobs import ServiceJobs
from motet.sim.aggregation.losses import LossRecord

_EXIT, _PERIOD, _MEASURED, _JUDGED, _ARRIVAL = range(5)
"""Order of the events of one instant."""
_US_NS = 1_000


@dataclass(frozen=True)
class ServiceRules:
    """`period_us`: of scaling. `measured_iterations`: for which a new job has own Aggregators, and
    after which a measured loss counts. `contention`: see `measured_losses`.
    """

    scaling: ScalingRules
    period_us: int = 600 * SECOND_US
    measured_iterations: int = 100
    contention: float = 0.0


def replay(jobs: ServiceJobs, rules: ServiceRules) -> ServiceHistory:
    """The pool from the first arrival to the last end."""
    return _Replay(jobs, rules).run()


class _Replay:
    def __init__(self, jobs: ServiceJobs, rules: ServiceRules) -> None:
        self._jobs, self._rules = jobs, rules
        self._pool = ClusteredPool(rules.scaling)
        self._measured: dict[int, int] = {}
        self._required = 0
        self._losses = LossRecord(len(jobs))
        arrivals = ((int(at), _ARRIVAL, number) for number, at in enumerate(jobs.arrives_us))
        exits = ((int(at), _EXIT, number) for number, at in enumerate(jobs.ends_us))
        self._agenda = list(chain(arrivals, exits))
        heapify(self._agenda)
        self._has_period = False
        self._ended = self._spreads = 0
        self._judged: set[int] = set()

    def run(self) -> ServiceHistory:
        steps = []
        while self._ended < len(self._jobs):
            now_us = self._agenda[0][0]
            while self._agenda and self._agenda[0][0] == now_us:
                self._handle(*heappop(self._agenda))
            changed = self._losses.follow(self._pool, now_us)
            if self._rules.contention:
                for cluster in changed:
                    self._measure(now_us, cluster)
            steps.append(self._step(now_us))
        return ServiceHistory.of(
            self._jobs,
            steps,
            lost_us=self._losses.integral,
            largest_loss=self._losses.largest,
            moved_tensors=self._losses.moved,
            moves=self._losses.moves,
            spreads=self._spreads,
        )

    def _handle(self, now_us: int, kind: int, number: int) -> None:
        before = self._pool
        if kind == _ARRIVAL:
            self._arrive(now_us, number)
        elif kind == _MEASURED:
            del self._measured[number]
            self._pool = before.after_arrival(number, self._jobs.profiles[number])
        elif kind == _JUDGED:
            self._judge(number)
        elif kind == _EXIT:
            self._end(now_us, number)
        else:
            self._has_period = False
            self._pool = before.after_period()
            return
        if self._pool is not before and not self._has_period:
            self._has_period = True
            period_us = self._rules.period_us
            heappush(self._agenda, ((now_us // period_us + 1) * period_us, _PERIOD, 0))

    def _arrive(self, now_us: int, number: int) -> None:
        profile = self._jobs.profiles[number]
        self._required += profile.servers
        self._measured[number] = profile.servers
        taken_us = self._measured_us(profile.iteration_ns)
        if now_us + taken_us < self._jobs.ends_us[number]:
            heappush(self._agenda, (now_us + taken_us, _MEASURED, number))

    def _end(self, now_us: int, number: int) -> None:
        self._ended += 1
        self._required -= self._jobs.profiles[number].servers
        if self._measured.pop(number, None) is None:
            self._pool = self._pool.after_exit(number)
            self._losses.end(number, now_us)

    def _measure(self, now_us: int, cluster: AggregatorPool) -> None:
        """A loss takes effect on the plan after as many iterations as a measurement takes."""
        for number, lost in measured_losses(cluster, self._rules.contention).items():
            if lost < self._limit(number) or number in self._judged:
                continue
            self._judged.add(number)
            iteration_ns = self._jobs.profiles[number].iteration_ns / (1 - min(lost, 0.9))
            heappush(self._agenda, (now_us + self._measured_us(iteration_ns), _JUDGED, number))

    def _judge(self, number: int) -> None:
        self._judged.discard(number)
        cluster = next((each for each in self._pool.clusters if number in each.jobs), None)
        if cluster is None:
            return
        if measured_losses(cluster, self._rules.contention)[number] >= self._limit(number):
            self._pool = with_own_aggregator(self._pool, number)
            self._spreads += 1

    def _limit(self, number: int) -> float:
        own = self._jobs.profiles[number].loss_limit
        return self._rules.scaling.loss_limit if own is None else own

    def _measured_us(self, iteration_ns: float) -> int:
        return int(self._rules.measured_iterations * iteration_ns) // _US_NS

    def _step(self, now_us: int) -> PoolStep:
        waiting = sum(job.servers for job in self._pool.waiting.values())
        lost = self._losses.by_job.values()
        running = len(lost) + len(self._measured) + len(self._pool.waiting)
        return PoolStep(
            now_us,
            running,
            self._required,
            self._pool.aggregators,
            sum(self._measured.values()) + waiting,
            sum(lost) / running if running else 0.0,
            max(lost, default=0.0),
        )
