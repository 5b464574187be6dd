"""The queues and their limits: part of the state. A fold over facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from motet.domain.errors import BadInput, UnknownName
from motet.domain.queues.queue_limits import NO_LIMITS, QueueLimits, Queues
from motet.live.queues.queue_facts import (
    QueueCreated,
    QueueDeleted,
    QueueFact,
    QueueLimitsSet,
    QueueMode,
    QueueModeSet,
)


@dataclass(frozen=True, slots=True)
class LiveQueue:
    """`limits`: without the mode. `is_deleted`: its number remains."""

    number: int
    limits: QueueLimits = NO_LIMITS
    mode: QueueMode = "open"
    is_deleted: bool = False

    @property
    def limits_in_force(self) -> QueueLimits:
        """As the engine has them."""
        return replace(self.limits, is_held=self.mode == "held")


class QueueBook:
    """All queues by name, in the order of their numbers."""

    def __init__(self) -> None:
        self._queues = {name: LiveQueue(number) for number, name in enumerate(Queues().names)}

    @property
    def every(self) -> tuple[str, ...]:
        """The names of all queues that ever were, by number."""
        return tuple(self._queues)

    @property
    def present(self) -> Mapping[str, LiveQueue]:
        """The queues that are not deleted."""
        return {name: each for name, each in self._queues.items() if not each.is_deleted}

    @property
    def in_force(self) -> Queues:
        """Names and limits by number, as the engine has them."""
        limits = tuple(each.limits_in_force for each in self._queues.values())
        return Queues(self.every, limits)

    def queue(self, name: str) -> LiveQueue:
        """A queue that a user named. Raises BadInput that names the known ones."""
        if name not in self.present:
            unknown = UnknownName("queue", name, self.present)
            raise BadInput(f"{unknown}; create it: motet queue create {name}")
        return self._queues[name]

    def number_for_job(self, name: str) -> int:
        """The number of a queue that takes jobs. Raises BadInput."""
        found = self.queue(name)
        if found.mode == "draining":
            raise BadInput(
                f"queue {name} is draining and takes no further jobs; choose another one, or "
                f"resume it: motet queue resume {name}"
            )
        return found.number

    def number(self, name: str) -> int:
        """The number of a queue that exists."""
        return self._queues[name].number

    def number_if_known(self, name: str) -> int | None:
        """The number of a queue of this name, present or deleted."""
        return self._queues[name].number if name in self._queues else None

    def fold(self, fact: QueueFact) -> None:
        """Apply a fact."""
        known = self._queues.get(fact.name)
        number = len(self._queues) if known is None else known.number
        match fact:
            case QueueCreated():
                self._queues[fact.name] = LiveQueue(number)
            case QueueLimitsSet():
                limits = QueueLimits(fact.guarantee, fact.borrow, fact.lend)
                self._queues[fact.name] = replace(self._queues[fact.name], limits=limits)
            case QueueModeSet():
                self._queues[fact.name] = replace(self._queues[fact.name], mode=fact.mode)
            case QueueDeleted():
                self._queues[fact.name] = LiveQueue(number, is_deleted=True)
            case _:
                assert_never(fact)
