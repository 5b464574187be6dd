"""The port for a handler of many requests at a time, as they lie in the receive buffer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol, TypeAlias

from motet.domain.arrays import Bytes


class BatchReplies(NamedTuple):
    """`read_to`: where the first request begins that is left to the `Handler`. `replies`: complete
    frames to those before it."""

    read_to: int
    replies: bytes


class BatchHandler(Protocol):
    """Of one connection, on its thread. It answers plain requests in their order without an object
    for each, and stops at the first one that is not plain or not complete."""

    def use_segments(self, segments: Mapping[int, Bytes]) -> None:
        """The memory that the client lends from now on, by number."""
        ...

    def serve(self, received: Bytes, start: int, end: int) -> BatchReplies:
        """Answer frames of `received[start:end]`, the first of which begins at `start`."""
        ...


NewBatchHandler: TypeAlias = Callable[[str], BatchHandler]
"""For a connection of the client with this name."""
