"""What pMaster knows of one job."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from motet.aggregation.master.state.worker_schedule import WorkerSchedule
from motet.aggregation.planner.job_profile import AggregationProfile
from motet.aggregation.wire.aggregator_control import JobMeasurement
from motet.aggregation.wire.pool_messages import JoinJob
from motet.domain.arrays import Indices, Ints

NOWHERE = -1
"""The Aggregator of a replica that does not exist."""
UNSURE = -2
"""The Aggregator of the tensor may have a replica somewhere, which does not count. So it is until a
new copy is complete."""


@dataclass(eq=False)
class PoolJob:
    """A job from the join of its first worker until its end.

    Aggregators are named by the numbers of their processes. `home_hint`: `(tensors,)`, where the
    tensors are to be while the job has no place in the plan. `homes`: where they are. `replicas`:
    of each tensor, NOWHERE or UNSURE. `heirs`: of a tensor whose home is dead, the Aggregators that
    may have its state, the first choice first. `stale`: of a tensor, Aggregators whose replicas
    lack steps. `profile`: as measured alone; None: not yet. `added`:
    planned Aggregators after measured losses. `judged_from`: the loss counts from this step on.
    `missing_since_s`: ranks that have not been seen since pMaster was started. `empty_since_s`: no
    step waits for a worker. `is_news`: the workers do not know its present routes.
    `is_promoted_singly`: an heir lacks some of the tensors.
    """

    number: int
    request: JoinJob
    secret: str
    home_hint: Ints
    homes: Ints
    replicas: Ints
    schedule: WorkerSchedule
    heirs: dict[int, tuple[int, ...]] = field(default_factory=dict)
    stale: dict[int, set[int]] = field(default_factory=dict)
    is_routed: bool = False
    version: int = 0
    profile: AggregationProfile | None = None
    added: tuple[int, ...] = ()
    judged_from: int = 0
    measured: dict[int, JobMeasurement] = field(default_factory=dict)
    present: set[int] = field(default_factory=set)
    missing_since_s: dict[int, float] = field(default_factory=dict)
    empty_since_s: float | None = None
    is_news: bool = False
    is_promoted_singly: bool = False

    @property
    def name(self) -> str:
        """The name that its workers gave."""
        return self.request.job

    @property
    def loss_limit(self) -> float | None:
        """The share of its speed that it must not lose; None: that of the pool."""
        return self.request.loss_limit

    @property
    def steps(self) -> tuple[int, int]:
        """The steps that all its Aggregators, and that some of them have applied, as measured.

        An Aggregator that has not taken part in a step yet does not count.
        """
        lasts = [self.measured[each].last_step for each in self._measured_homes]
        applied = [last for last in lasts if last]
        return (min(applied), max(applied)) if applied else (0, 0)

    @property
    def measured_steps(self) -> int:
        """How many steps all its Aggregators have measured."""
        counts = [self.measured[each].steps for each in self._measured_homes]
        return min(counts) if len(counts) == len(self.live_homes) else 0

    @property
    def iteration_ns(self) -> int:
        """The duration of its latest iterations; 0: not measured."""
        return max((self.measured[each].iteration_ns for each in self._measured_homes), default=0)

    @property
    def live_homes(self) -> tuple[int, ...]:
        """The Aggregators that serve its tensors."""
        return tuple(np.unique(self.homes[self.served]).tolist())

    @property
    def served(self) -> Indices:
        """The tensors whose Aggregator lives."""
        is_served = np.ones(len(self.homes), np.bool_)
        is_served[list(self.heirs)] = False
        return np.flatnonzero(is_served)

    @property
    def _measured_homes(self) -> list[int]:
        return [each for each in self.live_homes if each in self.measured]

    def tensors_at(self, aggregator: int) -> Indices:
        """The tensors that an Aggregator serves."""
        served = self.served
        found: Indices = served[self.homes[served] == aggregator]
        return found

    def holds(self, aggregator: int) -> bool:
        """Whether an Aggregator has a tensor of the job, or a replica."""
        is_heir = any(aggregator in heirs for heirs in self.heirs.values())
        return is_heir or bool(
            len(self.tensors_at(aggregator)) or (self.replicas == aggregator).any()
        )
