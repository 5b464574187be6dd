"""What a simulation must know of speeds and costs, and the simplest answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from motet.domain.snapshot import Placement
from motet.estimate.exchange import Gang

FULL_SPEED = 10_000


class Slowdown(NamedTuple):
    """How many times as long an elastic job computes and communicates as where it does so best, and
    exchanges its model with its servers as where they and its workers have machines of their own.
    """

    computing: float = 1.0
    communicating: float = 1.0
    exchanging: float = 1.0


class SpeedModel(Protocol):
    """How fast a job runs where it is placed, and what it costs to bring it there."""

    @property
    def together_gpus(self) -> int:
        """How many GPUs of a job may share a machine; 0: it does not matter where they are."""
        ...

    def speed(self, model: int, placement: Placement) -> int:
        """10,000 = as fast as alone and consolidated."""
        ...

    def shared(self, model: int, other: int, placement: Placement) -> float:
        """What is left of a job's speed beside a job of another model on the same GPUs, 0 to 1."""
        ...

    def slowdown(self, model: int, placement: Placement, gang: Gang) -> Slowdown:
        """The same as `speed` for jobs whose steps are known in parts."""
        ...

    def resume_cost_us(self, model: int, gpus: int) -> int:
        """Checkpoint and restore of a job that ran before."""
        ...

    def rescale_cost_us(self, model: int, gpus: int) -> int:
        """What a job that runs loses when it goes on with other numbers of workers or servers."""
        ...


class MachinesDoNotMatter:
    """Full speed wherever a job runs; two that share GPUs have half of them each."""

    @property
    def together_gpus(self) -> int:
        """See SpeedModel."""
        return 0

    def speed(self, model: int, placement: Placement) -> int:
        """See SpeedModel."""
        del model, placement
        return FULL_SPEED

    def shared(self, model: int, other: int, placement: Placement) -> float:
        """See SpeedModel."""
        del model, other, placement
        return 0.5

    def slowdown(self, model: int, placement: Placement, gang: Gang) -> Slowdown:
        """See SpeedModel."""
        del model, placement, gang
        return Slowdown()


@dataclass(frozen=True)
class SameEverywhere(MachinesDoNotMatter):
    """Placement does not matter; every preemption costs the same, and so does every rescaling.

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
    """An `Imbalance`: every server has as much to do as the others."""
    del job, servers
    return 1.0
