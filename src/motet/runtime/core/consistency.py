"""How the workers of a job keep step: one class per mode.

A further mode is one more class here and its name in `ConsistencyName`; servers, the controller and
the command line use the object and compare no names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from motet.domain.errors import BadInput

ConsistencyName = Literal["bsp", "ssp", "async"]


@dataclass(frozen=True)
class Consistency(ABC):
    """When a worker may read the model, and how its pushes reach it.

    `is_lockstep`: a block sums the contributions of all workers to a mini-batch and applies the sum
    once; all workers train the same mini-batch, and an epoch ends for all of them together. In
    other modes every push is applied by itself as soon as it arrives. `counts_finished`:
    `may_pull` depends on how many mini-batches each worker has finished. `overlaps`: a worker pulls
    for its next mini-batch, and pushes the one before, while it computes.
    """

    name: ClassVar[ConsistencyName]
    is_lockstep: ClassVar[bool] = False
    counts_finished: ClassVar[bool] = False
    overlaps: ClassVar[bool] = False

    @classmethod
    def of(cls, staleness: int) -> Self:
        """The mode with the user's `staleness`. Raises BadInput for one that it does not have."""
        if staleness:
            raise BadInput(
                f"staleness={staleness} with consistency={cls.name}: staleness belongs to ssp; "
                "use consistency=ssp or leave staleness out"
            )
        return cls()

    @abstractmethod
    def may_pull(self, clock: int, applied: NDArray[np.int64], finished: Mapping[int, int]) -> bool:
        """Whether a worker may read the values with which it begins mini-batch `clock`.

        `applied: (blocks read,)`: how many mini-batches each of the blocks contains; `finished`:
        by worker, how many it has finished.
        """


class Bsp(Consistency):
    """Bulk synchronous: every worker finishes mini-batch k before any of them begins k + 1."""

    name = "bsp"
    is_lockstep = True

    def may_pull(self, clock: int, applied: NDArray[np.int64], finished: Mapping[int, int]) -> bool:
        """As soon as all blocks contain the mini-batches before."""
        del finished
        return bool((applied >= clock).all())


@dataclass(frozen=True)
class Ssp(Consistency):
    """Stale synchronous: no worker is more than `staleness` mini-batches ahead of the slowest."""

    name = "ssp"
    counts_finished = True
    staleness: int = 0

    def __post_init__(self) -> None:
        if self.staleness < 0:
            raise BadInput(f"staleness={self.staleness}: must be 0 or more")

    @classmethod
    def of(cls, staleness: int) -> Self:
        """Raises BadInput for a negative staleness."""
        return cls(staleness)

    def may_pull(self, clock: int, applied: NDArray[np.int64], finished: Mapping[int, int]) -> bool:
        """As soon as the slowest worker has finished enough mini-batches."""
        del applied
        return clock - min(finished.values(), default=clock) <= self.staleness


class Async(Consistency):
    """Asynchronous: no worker waits for another, and COMM runs beside COMP."""

    name = "async"
    overlaps = True

    def may_pull(self, clock: int, applied: NDArray[np.int64], finished: Mapping[int, int]) -> bool:
        """Always."""
        del clock, applied, finished
        return True


DEFAULT_CONSISTENCY: Consistency = Bsp()


def consistency_of(name: ConsistencyName | None = None, staleness: int = 0) -> Consistency:
    """The mode of a user's options; without a name SSP for a staleness, else the default mode.

    Raises BadInput for a staleness that does not fit.
    """
    if name is None:
        return Ssp.of(staleness) if staleness else DEFAULT_CONSISTENCY
    return _MODES[name].of(staleness)


_MODES: Mapping[str, type[Consistency]] = {mode.name: mode for mode in Consistency.__subclasses__()}


@dataclass(frozen=True)
class Synchronisation:
    """The mode of a job and the executors that are its workers."""

    consistency: Consistency
    workers: tuple[int, ...]
