"""The slabs of a lender: free, mapped by a client, or asked back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from motet.remote_memory.core.head_room import SlabCounts


class LentState(Enum):
    """`EVICTING`: EVICT was sent and not answered yet."""

    MAPPED = "mapped"
    EVICTING = "evicting"


@dataclass
class LentSlab:
    """`number`: of its memory. `token`: unguessable. `deadline_us`: of DONE, while evicting."""

    number: int
    client: str
    token: bytes
    generation: int
    state: LentState = LentState.MAPPED
    deadline_us: int = 0


class LentSlabs:
    """Not thread-safe. A slab that is given back is in no list: the caller zeroes its memory, then
    adds it as a free one or returns it to the system."""

    def __init__(
        self,
        new_token: Callable[[], bytes],
        quota_slabs: int | None = None,
        borrower_of: Callable[[str], str] = str,
    ) -> None:
        """`quota_slabs`: of each borrower; None: no limit. `borrower_of`: a client."""
        self._new_token = new_token
        self._borrower_of = borrower_of
        self._quota_slabs = quota_slabs
        self._free: list[int] = []
        self._lent: dict[bytes, LentSlab] = {}
        self._generation = 0

    @property
    def counts(self) -> SlabCounts:
        """How many there are of each kind."""
        evicting = sum(slab.state is LentState.EVICTING for slab in self._lent.values())
        return SlabCounts(len(self._free), len(self._lent), evicting)

    def mapped(self) -> list[LentSlab]:
        """Slabs that can be evicted, in the order of their mapping."""
        return [slab for slab in self._lent.values() if slab.state is LentState.MAPPED]

    def all(self) -> list[LentSlab]:
        """Slabs that clients have, also those that they are to leave."""
        return list(self._lent.values())

    def add(self, number: int) -> None:
        """A free slab with zeroed memory."""
        self._free.append(number)

    def take_free(self, count: int) -> list[int]:
        """Remove free slabs: their memory goes back to the system."""
        taken, self._free = self._free[:count], self._free[count:]
        return taken

    def room_for(self, client: str) -> int:
        """How many slabs the client can have now."""
        return min(len(self._free), self._left_of_quota(client))

    def lend(self, client: str) -> LentSlab | None:
        """Map a free slab; None: there is none, or the client has its quota."""
        if self.room_for(client) <= 0:
            return None
        self._generation += 1
        slab = LentSlab(self._free.pop(), client, self._new_token(), self._generation)
        self._lent[slab.token] = slab
        return slab

    def begin_eviction(self, tokens: Sequence[bytes], deadline_us: int) -> list[LentSlab]:
        """EVICT is sent for those of them that are mapped."""
        found = [slab for key in tokens if (slab := self._lent.get(key)) is not None]
        begun = [slab for slab in found if slab.state is LentState.MAPPED]
        for slab in begun:
            slab.state, slab.deadline_us = LentState.EVICTING, deadline_us
        return begun

    def overdue(self, now_us: int) -> list[LentSlab]:
        """Slabs whose owner did not answer EVICT in time."""
        return [
            slab
            for slab in self._lent.values()
            if slab.state is LentState.EVICTING and slab.deadline_us <= now_us
        ]

    def give_back(self, token: bytes, generation: int, client: str | None = None) -> int | None:
        """End a mapping; the number of its slab. None: there is no such mapping (of the client)."""
        slab = self._lent.get(token)
        if slab is None or slab.generation != generation or client not in (None, slab.client):
            return None
        del self._lent[token]
        return slab.number

    def _left_of_quota(self, client: str) -> int:
        if self._quota_slabs is None:
            return len(self._free)
        borrower = self._borrower_of(client)
        clients = (slab.client for slab in self._lent.values())
        return self._quota_slabs - sum(self._borrower_of(each) == borrower for each in clients)
