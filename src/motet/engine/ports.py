"""What the engine needs of the world around it. Drivers bring the real things, tests their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from motet.domain.actions import Action
from motet.domain.arrays import Floats
from motet.domain.decision import Decision
from motet.domain.estimates import LossForecasts
from motet.domain.snapshot import Placement, Snapshot


class Clock(Protocol):
    """Time in whole microseconds; never goes back."""

    def now_us(self) -> int:
        """The time now."""
        ...


class Launcher(Protocol):
    """Carries actions out."""

    def start(self, job: int, placement: Placement) -> None:
        """Start a job, or resume it from its checkpoint."""
        ...

    def preempt(self, job: int) -> None:
        """Checkpoint a job and take its GPUs away."""
        ...

    def migrate(self, job: int, placement: Placement) -> None:
        """Checkpoint a job and go on elsewhere."""
        ...


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
    """Hears of every decision before it is carried out, and of completions before the decision."""

    def decided(
        self, now_us: int, snapshot: Snapshot, decision: Decision, actions: Sequence[Action]
    ) -> None:
        """`snapshot`: what the policy saw; its arrays change afterwards."""
        ...

    def finished(self, now_us: int, job: int, overhead_us: int) -> None:
        """A job is done; `overhead_us`: its time in checkpoints and restores."""
        ...
