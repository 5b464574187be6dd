"""Interfaces that the engine requires; drivers and tests implement them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from motet.domain.actions import Action
from motet.domain.arrays import Floats
from motet.domain.decision import Decision
from motet.domain.estimates import LossForecasts
from motet.domain.events import Event
from motet.domain.snapshot import Snapshot


class CurveFitter(Protocol):
    """Predicts loss curves."""

    def fit_many(self, histories: Sequence[tuple[Floats, Floats]], /) -> LossForecasts:
        """Fit a curve to (steps, losses) of every job: at least one report each, steps ascending.

        The result must be a dataclass whose fields are arrays with a row per job, because the
        caller keeps single rows.
        """
        ...


class SpeedFitter(Protocol):
    """Fits speed functions to measurements."""

    def fit(self, samples: Floats) -> tuple[int, Floats]:
        """Mode and parameters, `(6,)`; `samples`: (workers, servers, steps per second), `(n, 3)`.

        The mode is 0 if the samples are too few.
        """
        ...


class Journal(Protocol):
    """Records every step in order: its events before they are folded, then the decision."""

    def received(self, now_us: int, events: Sequence[Event]) -> None:
        """Record the events of one step, before the engine's state changes."""
        ...

    def decided(
        self, now_us: int, snapshot: Snapshot, decision: Decision, actions: Sequence[Action]
    ) -> None:
        """Record a decision. `snapshot`: all jobs; if some are on machines that take no jobs, the
        policy does not see these, and there are no estimates. Its arrays change afterwards.
        `actions`: all that follow from the decision, including those that wait for slots."""
        ...
