"""The lease of one call on shared memory."""

from __future__ import annotations

from collections.abc import Sequence

from motet.transport.backends.arena import Arena
from motet.transport.backends.copying import gather, scatter
from motet.transport.backends.segment import Region
from motet.transport.framing import MAX_REFERENCES, Reference

FEW, SMALL_BYTES = 8, 1 << 15


class Lease:
    """Stages buffers outside the arena in a region of it; buffers inside are lent in place.

    Implements `PayloadLease`. A request that is sent again uses the same regions.
    """

    __slots__ = ("_arena", "_staged_payload", "_staged_target")

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self._staged_payload: Region | None = None
        self._staged_target: Region | None = None

    def payload(self, views: Sequence[memoryview], size_bytes: int) -> Reference:
        """See PayloadLease."""
        if len(views) == 1:
            found = self._arena.find(views[0])
            if found is not None:
                return found
        if self._staged_payload is None:
            self._staged_payload = self._arena.take(size_bytes)
            gather(views, self._staged_payload.view(size_bytes))
        return self._staged_payload.reference(size_bytes)

    def targets(self, into: Sequence[memoryview], size_bytes: int) -> list[Reference]:
        """See PayloadLease. One reference per destination if all of them are in the arena, unless
        they are many and small: then one copy more takes less time than their references."""
        is_scattered = len(into) > FEW and size_bytes < len(into) * SMALL_BYTES
        if len(into) < MAX_REFERENCES and not is_scattered:
            found = [self._arena.find(view) for view in into if len(view)]
            references = [reference for reference in found if reference is not None]
            if len(references) == len(found):
                return references
        if self._staged_target is None:
            self._staged_target = self._arena.take(size_bytes)
        return [self._staged_target.reference(size_bytes)]

    def deliver(self, into: Sequence[memoryview]) -> None:
        """See PayloadLease."""
        if self._staged_target is not None:
            scatter(self._staged_target.view(sum(map(len, into))), into)

    def release(self) -> None:
        """See PayloadLease."""
        for region in (self._staged_payload, self._staged_target):
            if region is not None:
                self._arena.give_back(region)

    def abandon(self, views: Sequence[memoryview], into: Sequence[memoryview] | None) -> None:
        """See PayloadLease. Staging regions are not returned to the arena either; the server never
        had access to the buffers that were staged. The server may still use a payload, so its
        content is kept; nothing needs the content of a destination."""
        lent = [view for view in views if self._arena.find(view) is not None]
        if lent:
            self._arena.quarantine(lent)
        for view in into or ():
            self._arena.discard(view)
        if self._staged_target is not None:
            self._staged_target.discard()
