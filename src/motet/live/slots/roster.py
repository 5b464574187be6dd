"""The processes of an elastic gang: some join it, some leave, and the others go on. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Self

from motet.domain.snapshot import Placement


@dataclass(frozen=True, slots=True)
class Roster:
    """`machines`: of every process that the gang has had, by rank; a rank is never used again.
    `first`: how many of them began it. `dismissed`: the ranks that had to leave."""

    machines: tuple[int, ...]
    first: int
    dismissed: tuple[int, ...] = ()

    @classmethod
    def of(cls, placement: Placement) -> Self:
        """The processes that begin a gang: one for each slot."""
        machines = tuple(
            machine for machine, count in zip(*placement, strict=True) for _ in range(count)
        )
        return cls(machines, len(machines))

    @property
    def joined(self) -> int:
        """How many of the last ranks have joined."""
        return len(self.machines) - self.first

    def resized(self, placement: Placement) -> Roster | None:
        """With a process on each of these slots: on every machine the latest ones leave, or
        further ones join. None: the first process, which the others depend on, would have to leave.
        """
        slots = Counter(dict(zip(*placement, strict=True)))
        if not slots[self.machines[0]]:
            return None
        leaving = []
        for rank, machine in enumerate(self.machines):
            if rank in self.dismissed:
                continue
            if slots[machine]:
                slots[machine] -= 1
            else:
                leaving.append(rank)
        return replace(
            self,
            machines=(*self.machines, *sorted(slots.elements())),
            dismissed=tuple(sorted({*self.dismissed, *leaving})),
        )
