"""The protocol of placement planners."""

from __future__ import annotations

from typing import Protocol

from motet.domain.arrays import Ints
from motet.domain.snapshot import Placement


class Planner(Protocol):
    """Finds machines for one gang. A gang that fits by its number of GPUs always gets machines."""

    def place(self, free_gpus: Ints, gpus: int, model: int) -> Placement:
        """Machines with `gpus` free GPUs in all; `free_gpus: (machines,)` is left as it is.

        `model`: index of the job's profile, or UNKNOWN. Raises ValueError if too few are free.
        """
        ...


class LearningPlanner(Planner, Protocol):
    """A planner that wants to hear how its placements did."""

    def observe(self, model: int, placement: Placement, rate: int) -> None:
        """A job that had these GPUs to itself leaves them; `rate`: its speed, as in `JobTable`.

        Told of the same events in the same order, a planner places the same.
        """
        ...
