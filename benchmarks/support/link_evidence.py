"""What moving blocks over a link took, and what it did to the mini-batches meanwhile. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
        during = [it for it in epochs if it["is_moving"]]
        quiet = [it for it in epochs if not it["is_moving"]]
        return cls(
            table,
            len(moves),
            median(move["moved_bytes"] for move in moves),
            median(move["plan_s"] for move in moves),
            median(move["moved_bytes"] / move["plan_s"] for move in moves),
            max(move["stall_s"] for move in moves),
            median(_batches(it for it in quiet if not it["after_moves"])),
            median(_batches(during)),
            max(_batches(during)),
            median(_batches(it for it in quiet if it["after_moves"])),
        )


def _batches(epochs: Iterable[Mapping[str, Any]]) -> Sequence[float]:
    return [seconds for epoch in epochs for seconds in epoch["batch_s"]]
