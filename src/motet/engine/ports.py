"""What the engine needs of the world around it. Drivers bring the real things, tests their own."""

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
    """Predicts how losses will fall."""

    def fit_many(self, histories: Sequence[tuple[Floats, Floats]], /) -> LossForecasts:
        """From (steps, losses) of every job, at least one report each, steps ascending.

        A dataclass whose fields are arrays with a row per job, so that rows can be kept.
        """
        ...


class SpeedFitter(Protocol):
    """Learns speed functions from measurements."""

    def fit(self, samples: Floats) -> tuple[int, Floats]:
        """Mode and parameters, `(6,)`; `samples`: (workers, servers, steps per second), `(n, 3)`.

        Mode 0 where the samples are too few.
        """
        ...


class Journal(Protocol):
    """Keeps what happened, in order: events before they are folded, then the decision."""

    def received(self, now_us: int, events: Sequence[Event]) -> None:
        """The events of one step, before the engine's state changes."""
        ...

    def decided(
        self, now_us: int, snapshot: Snapshot, decision: Decision, actions: Sequence[Action]
    ) -> None:
        """`snapshot`: what the policy saw; its arrays change afterwards. `actions`: all that follow
        from the decision, those that still wait for slots included."""
        ...
