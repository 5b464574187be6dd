"""What moving blocks over a link took, and what it did to the mini-batches meanwhile. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from statistics import median
from typing import Any


@dataclass(frozen=True)
class LinkEvidence:
    """The moves of one table. `bytes_per_s`: the median move's; mini-batches: medians."""

    table: str
    moves: int
    moved_bytes: float
    plan_s: float
    bytes_per_s: float
    stall_s: float
    before_s: float
    during_s: float
    during_worst_s: float
    after_s: float

    @classmethod
    def of(cls, events: Iterable[Mapping[str, Any]], table: str) -> LinkEvidence:
        """From the events of `link_moves.py`. The first epoch, cold, does not count."""
        ours = [event for event in events if event["table"] == table]
        moves = [event for event in ours if event["kind"] == "reconfigured"]
        epochs = [event for event in ours if event["kind"] == "epoch"][1:]
        during = [seconds for epoch in epochs for seconds in _split(epoch)[0]]
        quiet = [(epoch["after_moves"], _split(epoch)[1]) for epoch in epochs]
        return cls(
            table,
            len(moves),
            median(move["moved_bytes"] for move in moves),
            median(move["plan_s"] for move in moves),
            median(move["moved_bytes"] / move["plan_s"] for move in moves),
            max(move["stall_s"] for move in moves),
            median(s for moves, batches_s in quiet for s in batches_s if not moves),
            median(during),
            max(during),
            median(s for moves, batches_s in quiet for s in batches_s if moves),
        )


def _split(epoch: Mapping[str, Any]) -> tuple[list[float], list[float]]:
    """Mini-batches that began during the move with which the epoch began, and the others."""
    batches_s = epoch["batch_s"]
    begins_s = [0.0, *accumulate(batches_s)]
    count = bisect_left(begins_s[:-1], epoch["move_s"])
    return batches_s[:count], batches_s[count:]
