"""The base class of placement planners."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from motet.domain.arrays import Ints
from motet.domain.snapshot import Placement


class Planner(ABC):
    """Chooses machines for one gang. Finds a placement whenever enough GPUs are free.

    `learns`: whether it overrides `observe`; it is not called otherwise.
    """

    learns: ClassVar[bool] = False

    @abstractmethod
    def place(self, free_gpus: Ints, gpus: int, model: int) -> Placement:
        """Machines with `gpus` free GPUs in total; does not change `free_gpus: (machines,)`.

        `model`: index of the job's profile, or UNKNOWN. Raises ValueError if too few are free.
        """

    def observe(self, model: int, placement: Placement, rate: int) -> None:
        """Record that a job with exclusive use of these GPUs ended; `rate`: its speed, as in
        `JobTable`.

        Planners that learn override this method and `learns`. Equal sequences of events lead to
        equal placements.
        """
        del model, placement, rate
