"""Guarantees of queues and what they borrow and lend, after Kueue's quotas of cluster queues.

`guarantee` is Kueue's `nominalQuota`, `borrow` its `borrowingLimit`, `lend` its `lendingLimit`; all
queues form one cohort. GPUs of the cluster that are guaranteed to no queue can be borrowed by all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from motet.domain.errors import BadInput


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """GPUs of a queue.

    `guarantee`: the queue gets them back from others when its jobs need them. `borrow`: the most
    that it holds beyond its guarantee; None: any number. `lend`: the most of its guarantee that
    others hold; None: all of it. `is_held`: its waiting jobs do not start.
    """

    guarantee: int = 0
    borrow: int | None = None
    lend: int | None = None
    is_held: bool = False

    @property
    def most(self) -> int | None:
        """The most that the queue holds; None: no limit of its own."""
        return None if self.borrow is None else self.guarantee + self.borrow

    @property
    def kept(self) -> int:
        """The part of the guarantee that is never lent."""
        return 0 if self.lend is None else max(self.guarantee - self.lend, 0)


NO_LIMITS = QueueLimits()


@dataclass(frozen=True, slots=True)
class Queues:
    """Queues and their limits; a queue's number is its index.

    `are_limited`: whether any queue has limits or is held.
    """

    names: tuple[str, ...] = ("default",)
    limits: tuple[QueueLimits, ...] = (NO_LIMITS,)
    are_limited: bool = field(init=False, compare=False)

    def __post_init__(self) -> None:  # Once: the engine asks at every decision.
        is_limited = any(each != NO_LIMITS for each in self.limits)
        object.__setattr__(self, "are_limited", is_limited)

    @classmethod
    def without_quotas(cls, names: tuple[str, ...]) -> Self:
        """Queues without limits."""
        return cls(names, (NO_LIMITS,) * len(names))

    @classmethod
    def with_limits(cls, names: tuple[str, ...], limits: Mapping[str, QueueLimits]) -> Self:
        """Queues of these names and those that have limits; the others have none."""
        every = tuple(dict.fromkeys((*names, *limits)))
        return cls(every, tuple(limits.get(name, NO_LIMITS) for name in every))


def check_guarantees(limits: Mapping[str, QueueLimits], gpus: int, unit: str = "GPUs") -> None:
    """Raises BadInput if more is guaranteed than the cluster has. `unit`: for the message."""
    total = sum(each.guarantee for each in limits.values())
    if total > gpus:
        named = ", ".join(
            f"{name} {each.guarantee}" for name, each in limits.items() if each.guarantee
        )
        raise BadInput(
            f"the guarantees of the queues ({named}) are {total} {unit} together; the cluster has "
            f"{gpus}"
        )


def limit_words(queues: Queues, queue: int, unit: str = "GPUs") -> str:
    """Why a job of a queue gets no more: "guarantee 4, borrow 2; other queues keep 3 GPUs"."""
    limits = queues.limits[queue]
    borrow = "" if limits.borrow is None else f", borrow {limits.borrow}"
    kept = sum(each.kept for number, each in enumerate(queues.limits) if number != queue)
    of_one = unit.removesuffix("s") if kept == 1 else unit
    others = f"; other queues keep {kept} {of_one}" if kept else ""
    return f"guarantee {limits.guarantee}{borrow}{others}"


def largest_job(queue: int, limits: Sequence[QueueLimits], gpus: int) -> int:
    """The most GPUs that one job of a queue can ever get, on a cluster of `gpus`."""
    kept_by_others = sum(each.kept for number, each in enumerate(limits) if number != queue)
    most = limits[queue].most
    available = max(gpus - kept_by_others, limits[queue].guarantee)
    return available if most is None else min(most, available)
