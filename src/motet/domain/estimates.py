"""What was measured of elastic jobs while they trained, and what is predicted from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from numpy.typing import ArrayLike

from motet.domain.arrays import Floats, Ints


class LossForecasts(Protocol):
    """How the losses of some jobs will fall."""

    def __len__(self) -> int: ...

    def predict(self, iterations: ArrayLike, /) -> Floats:
        """Losses after these steps, `(jobs,)` or `(jobs, n)`, none before the latest report."""
        ...

    def iterations_to(self, losses: ArrayLike, /) -> Floats:
        """The first steps after which losses are at most these, `(jobs,)`; infinite: never."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class Estimates:
    """A row per row of the `JobTable`, `(jobs,)` unless said otherwise; NaN where nobody knows.

    What was measured: `steps_done`; `loss` now, `first_loss`; `largest_change`: the largest
    decrease of the loss from one measurement to the next, per step, so far (SLAQ, section 3.1,
    divides by it to compare jobs).

    What the user said: `target_loss` at which the job shall end; `planned_steps`, where it ends
    after so many.

    What is predicted: `forecasts`, losses of those jobs whose `loss` is known, a row for each in
    their order (None: nobody predicts); `steps_left` to the end, infinite where the loss is never
    as low as its target; steps per second by `speed_mode` (0: unknown) with `speed`, `(jobs, 6)`:
    see `motet.estimate.speed_function`.
    """

    steps_done: Floats
    loss: Floats
    first_loss: Floats
    largest_change: Floats
    target_loss: Floats
    planned_steps: Floats
    forecasts: LossForecasts | None
    steps_left: Floats
    speed_mode: Ints
    speed: Floats

    def __len__(self) -> int:
        return len(self.steps_done)
