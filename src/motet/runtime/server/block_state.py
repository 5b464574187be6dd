"""What a block has besides its values, and the whole of it on its way to another owner."""

from __future__ import annotations

from dataclasses import dataclass, field

from motet.domain.arrays import Array
from motet.runtime.server.accumulator import PartialSum


@dataclass
class AppliedNumbers:
    """The sequence numbers (0, 1, 2, ...) of one client's updates that a block has applied."""

    below: int = 0
    ahead: set[int] = field(default_factory=set)

    def has(self, number: int) -> bool:
        """Whether the update was applied."""
        return number < self.below or number in self.ahead

    def add(self, number: int) -> None:
        """The update is applied."""
        if number == self.below and not self.ahead:
            self.below += 1
            return
        self.ahead.add(number)
        while self.below in self.ahead:
            self.ahead.remove(self.below)
            self.below += 1


@dataclass(eq=False)
class BlockState:
    """Everything of a block that moves with it.

    `applied`: the updates of every client that it contains; `applied_clocks`: of every worker the
    last mini-batch that was applied at once; `partial`: of a mini-batch under way; `revision`: of
    the values, if the table exchanges changes.
    """

    values: Array
    clock: int
    applied: dict[int, AppliedNumbers]
    applied_clocks: dict[int, int]
    partial: PartialSum
    revision: int = 0
