"""Contributions to a mini-batch: whose they are, and how their statistics add up."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """A worker's place among the `worker_count` workers that compute a mini-batch.

    Every contribution says how many there are: workers may come and go between mini-batches.
    """

    position: int
    worker_count: int


def added(one: tuple[float, ...], other: tuple[float, ...]) -> tuple[float, ...]:
    """Element by element; a worker without instances in the mini-batch reports nothing."""
    if not one or not other:
        return one or other
    return tuple(a + b for a, b in zip(one, other, strict=True))
