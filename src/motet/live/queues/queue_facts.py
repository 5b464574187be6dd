"""What the journal records about queues. Frozen values with a JSON form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

QueueMode: TypeAlias = Literal["open", "held", "draining"]
"""`held`: waiting jobs do not start. `draining`: takes no further jobs; those in it go on."""


@dataclass(frozen=True, slots=True)
class QueueCreated:
    """A user created a queue. Its number is the next one, or that of a deleted one of this name."""

    name: str
    user: str


@dataclass(frozen=True, slots=True)
class QueueLimitsSet:
    """A user gave a queue other limits; fields as in `QueueLimits`. `user`: empty: the server."""

    name: str
    user: str
    guarantee: int
    borrow: int | None
    lend: int | None


@dataclass(frozen=True, slots=True)
class QueueModeSet:
    """A user held, drained or resumed a queue."""

    name: str
    user: str
    mode: QueueMode


@dataclass(frozen=True, slots=True)
class QueueDeleted:
    """A user deleted a queue; it has no limits from then on."""

    name: str
    user: str


QueueFact: TypeAlias = QueueCreated | QueueLimitsSet | QueueModeSet | QueueDeleted
