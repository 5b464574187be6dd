"""What the workers have sent for one tensor in one step. Pure; the order of arrival is irrelevant.

A worker may push a tensor several times in a step: the count of a push says which time it is, and
the end of the step says which push counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from motet.aggregation.tensors.gradient_memory import PushedBatch, TorchTensor
from motet.aggregation.wire.tensor_spec import GroupOptions

Release: TypeAlias = Callable[[], None]
"""Tells that the memory of a gradient is not needed any more."""


class WorkerGradient(NamedTuple):
    """One worker's gradient, of a batch. `ordinal`: which push of the step it was, from 1."""

    ordinal: int
    gradient: TorchTensor
    release: Release
    batch: PushedBatch | None = None


@dataclass(frozen=True)
class StepEnd:
    """How a worker ended a step. `options`: of the tensor's parameter group, if it sent them."""

    is_applied: bool
    options: GroupOptions | None = None


class StepGradients:
    """One tensor in one step. `final`: by rank, which push counts (0: none; zeros).

    `ends`: by rank. `mean`: of all workers, once it is known. `is_summed`: whether it is, also
    where no worker has pushed (then `mean` stays None).
    """

    __slots__ = ("contributions", "ends", "final", "is_summed", "mean")

    def __init__(self) -> None:
        self.contributions: dict[int, WorkerGradient] = {}
        self.final: dict[int, int] = {}
        self.ends: dict[int, StepEnd] = {}
        self.mean: TorchTensor | None = None
        self.is_summed = False

    def push(self, rank: int, contribution: WorkerGradient) -> Release | None:
        """Keep a gradient; returns the release of what is not needed: this one or an older one.

        The same push again replaces the first: its sender lends the later memory.
        """
        known = self.contributions.get(rank)
        if self.is_summed or (known is not None and known.ordinal > contribution.ordinal):
            return contribution.release
        self.contributions[rank] = contribution
        return None if known is None else known.release

    def finalise(self, rank: int, count: int) -> None:
        """The worker's push of this count is its gradient of the step."""
        self.final.setdefault(rank, count)

    def can_sum(self, ranks: Sequence[int]) -> bool:
        """Whether everything is there that the sum consists of."""
        return not self.is_summed and all(map(self._has, ranks))

    def is_finished(self, ranks: Sequence[int]) -> bool:
        """Whether all workers have ended the step."""
        return len(self.ends) >= len(ranks) and self.ends.keys() >= set(ranks)

    def gradients(self, ranks: Sequence[int]) -> list[TorchTensor]:
        """What is added up, in the order of ranks."""
        return [self.contributions[rank].gradient for rank in ranks if self.final.get(rank)]

    def batches(self, ranks: Sequence[int]) -> list[PushedBatch | None]:
        """What `gradients` came with."""
        return [self.contributions[rank].batch for rank in ranks if self.final.get(rank)]

    def end(self, ranks: Sequence[int]) -> StepEnd:
        """The end that counts: that of the first worker."""
        return self.ends[ranks[0]]

    def inherit(self, other: StepGradients) -> list[Release]:
        """Continue with what came to another place too; returns what can be released."""
        releases = [self.push(rank, each) for rank, each in other.contributions.items()]
        self.final = other.final | self.final
        self.ends = other.ends | self.ends
        return [release for release in releases if release is not None]

    def take_releases(self) -> list[Release]:
        """Forget the gradients."""
        contributions, self.contributions = self.contributions, {}
        return [each.release for each in contributions.values()]

    def _has(self, rank: int) -> bool:
        count = self.final.get(rank)
        if not count:
            return count == 0
        known = self.contributions.get(rank)
        return known is not None and known.ordinal == count
