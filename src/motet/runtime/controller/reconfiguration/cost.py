"""What operations take."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """Bytes moved, and how long a worker stood still for it at most."""

    moved_bytes: int = 0
    stall_s: float = 0.0


def total_cost(costs: Iterable[Cost]) -> Cost:
    """All bytes, and the longest stall."""
    listed = list(costs)
    stall_s = max((cost.stall_s for cost in listed), default=0.0)
    return Cost(sum(cost.moved_bytes for cost in listed), stall_s)
