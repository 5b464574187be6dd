"""The shared memory that one call uses: what the server reads from and writes to."""

from __future__ import annotations

from collections.abc import Sequence

from motet.transport.backends.shared_memory import Arena, Region, gather, scatter
from motet.transport.framing import MAX_REFERENCES, Reference


class Lease:
    """Staging for buffers that are not in the arena; those in the arena are used as they are."""

    __slots__ = ("_arena", "_staged_payload", "_staged_target")

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self._staged_payload: Region | None = None
        self._staged_target: Region | None = None

    def payload(self, views: Sequence[memoryview], size_bytes: int) -> Reference:
        """Where the server finds the request's payload, copied there if need be."""
        if len(views) == 1:
            found = self._arena.find(views[0])
            if found is not None:
                return found
        if self._staged_payload is None:
            self._staged_payload = self._arena.take(size_bytes)
            gather(views, self._staged_payload.view(size_bytes))
        return self._staged_payload.reference(size_bytes)

    def targets(self, into: Sequence[memoryview], size_bytes: int) -> list[Reference]:
        """Where the server puts the reply's payload."""
        if len(into) < MAX_REFERENCES:
            found = [self._arena.find(view) for view in into if len(view)]
            references = [reference for reference in found if reference is not None]
            if len(references) == len(found):
                return references
        if self._staged_target is None:
            self._staged_target = self._arena.take(size_bytes)
        return [self._staged_target.reference(size_bytes)]

    def deliver(self, into: Sequence[memoryview]) -> None:
        """The reply's payload is there: copy it to its destinations unless it came to them."""
        if self._staged_target is not None:
            scatter(self._staged_target.view(sum(map(len, into))), into)

    def release(self) -> None:
        """The server is done with the memory."""
        for region in (self._staged_payload, self._staged_target):
            if region is not None:
                self._arena.give_back(region)

    def abandon(self, views: Sequence[memoryview], into: Sequence[memoryview] | None) -> None:
        """The server may not be done with the memory and cannot be asked."""
        self._arena.quarantine((list(views), list(into or ())))
