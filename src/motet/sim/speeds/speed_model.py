"""The interface of speed and cost models, and its simplest implementations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from motet.domain.snapshot import Placement
from motet.domain.units import FULL_SPEED
from motet.estimate.exchange import Gang


class Slowdown(NamedTuple):
    """Factors on the parts of an elastic job's step: computing and communicating relative to the
    best placement, exchanging with servers relative to one machine per worker and server.
    """

    computing: float = 1.0
    communicating: float = 1.0
    exchanging: float = 1.0


class SpeedModel(Protocol):
    """Speeds of placed jobs, and costs of starting them."""

    @property
    def together_gpus(self) -> int:
        """Maximum number of a job's GPUs on one machine; 0: placement does not affect speeds."""
        ...

    def speed(self, model: int, placement: Placement) -> int:
        """10,000 = as fast as alone and consolidated."""
        ...

    def shared(self, model: int, others: Sequence[int], placement: Placement) -> float:
        """Relative speed of a job that shares its GPUs with jobs of these models, 0 to 1."""
        ...

    def slowdown(self, model: int, placement: Placement, gang: Gang) -> Slowdown:
        """As `speed`, for jobs with step times in parts."""
        ...

    def resume_cost_us(self, model: int, gpus: int) -> int:
        """Checkpoint and restore time of a job that ran before."""
        ...

    def rescale_cost_us(self, model: int, gpus: int) -> int:
        """Training time that a running job loses by a change of its numbers of workers
        or servers.
        """
        ...


class MachinesDoNotMatter:
    """Full speed on any placement; jobs that share GPUs run at equal parts of it."""

    @property
    def together_gpus(self) -> int:
        """See SpeedModel."""
        return 0

    def speed(self, model: int, placement: Placement) -> int:
        """See SpeedModel."""
        del model, placement
        return FULL_SPEED

    def shared(self, model: int, others: Sequence[int], placement: Placement) -> float:
        """See SpeedModel."""
        del model, placement
        return 1 / (1 + len(others))

    def slowdown(self, model: int, placement: Placement, gang: Gang) -> Slowdown:
        """See SpeedModel."""
        del model, placement, gang
        return Slowdown()


@dataclass(frozen=True)
class SameEverywhere(MachinesDoNotMatter):
    """Full speed on any placement; constant costs of preemption and of rescaling.

    `rescaling_us`: None: as a preemption.
    """

    cost_us: int = 0
    rescaling_us: int | None = None

    def resume_cost_us(self, model: int, gpus: int) -> int:
        """See SpeedModel."""
        del model, gpus
        return self.cost_us

    def rescale_cost_us(self, model: int, gpus: int) -> int:
        """See SpeedModel."""
        del model, gpus
        return self.cost_us if self.rescaling_us is None else self.rescaling_us


Imbalance: TypeAlias = Callable[[int, int], float]


def balanced(job: int, servers: int) -> float:
    """An `Imbalance` of equal server loads."""
    del job, servers
    return 1.0
