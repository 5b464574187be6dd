"""The base class of placement planners."""

from __future__ import annotations

from abc import ABC, abstractmethod

from motet.domain.arrays import Ints
from motet.domain.snapshot import Placement


class Planner(ABC):
    """Finds machines for one gang. A gang that fits by its number of GPUs always gets machines."""

    @abstractmethod
    def place(self, free_gpus: Ints, gpus: int, model: int) -> Placement:
        """Machines with `gpus` free GPUs in all; `free_gpus: (machines,)` is not changed.

        `model`: index of the job's profile, or UNKNOWN. Raises ValueError if too few are free.
        """

    def observe(self, model: int, placement: Placement, rate: int) -> None:
        """A job that had these GPUs to itself leaves them; `rate`: its speed, as in `JobTable`.

        Planners that learn override this method. The same events in the same order lead to the
        same placements.
        """
        del model, placement, rate
