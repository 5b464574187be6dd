"""Detects simulations that would never end."""

from __future__ import annotations

import numpy as np

from motet.domain.errors import MotetError
from motet.domain.policy import Policy
from motet.domain.units import SECOND_US, seconds
from motet.engine.policy_loading.faults import place_of_decide
from motet.engine.state.cluster_state import ClusterState

FUTILE_DECISIONS = 100_000
"""Limit of consecutive decisions without training, arrival or completion of a job."""

HASTY_DECISIONS = 10_000
"""Number of consecutive decisions without arrival or completion over which their distance is
averaged."""

SHORTEST_DISTANCE_US = 1_000
"""Decisions that are closer on average never come to the end of jobs that run for hours."""


class EndlessSimulation(MotetError):
    """Jobs never train, or the policy schedules far too many decisions."""


class ProgressWatch:
    """Counts decisions since jobs last made progress."""

    def __init__(self, policy: Policy, state: ClusterState) -> None:
        self._policy, self._state = policy, state
        self._without_training = 0
        self._without_event, self._last_event_us = 0, 0
        self._began_us: int | None = None

    def event(self) -> None:
        """A job arrived or completed, or a user intervened."""
        self._without_training = self._without_event = 0
        self._last_event_us = self._state.now_us

    def decided(self, *, has_trained: bool) -> None:
        """A decision; `has_trained`: whether a job trained before. Raises EndlessSimulation."""
        if self._began_us is None:  # The clock of a replay is Unix time.
            self._began_us = self._state.now_us
        self._without_training = 0 if has_trained else self._without_training + 1
        self._without_event += 1
        if self._without_event >= HASTY_DECISIONS:
            self._check_distance()
        if self._without_training > FUTILE_DECISIONS:
            self._check_training()

    def _check_distance(self) -> None:
        passed_us, count = self._state.now_us - self._last_event_us, self._without_event
        self._without_event, self._last_event_us = 0, self._state.now_us
        if passed_us >= count * SHORTEST_DISTANCE_US:
            return
        self._fail(
            f"{count:,} decisions within {passed_us / SECOND_US:g} s",
            "without arrival or completion of a job: the policy asks for them too often; return "
            "a later recheck_at_us (NEVER_US: no decision before the next event), or set a longer "
            "quantum_s",
        )

    def _check_training(self) -> None:
        jobs, now_us = self._state.jobs, self._state.now_us
        if ((jobs.held_gpus > 0) & (jobs.ready_us < now_us)).any():
            self._without_training = 0
            return
        decisions = f"{FUTILE_DECISIONS:,} decisions"
        if not np.any(jobs.held_gpus > 0):
            self._fail(decisions, "that start no job")
        self._fail(
            decisions,
            "without training, arrival or completion of a job: jobs are preempted before they "
            "are restored; lower preemption_cost, or let the policy preempt less often (a larger "
            "promote_knob, quantum_s or lease_s)",
        )

    def _fail(self, decisions: str, problem: str) -> None:
        place = place_of_decide(type(self._policy))
        passed_s = seconds(self._state.now_us - (self._began_us or 0))
        raise EndlessSimulation(
            f"{place}: {decisions}, the last {passed_s:g} s after the simulation began, {problem}"
        )
