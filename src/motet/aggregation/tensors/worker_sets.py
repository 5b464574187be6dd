"""Which workers a job has in each step."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Self

from motet.aggregation.wire.peer_requests import WorkerChange


class WorkerSets:
    """The ranks of a job's workers by step; a change holds from its step on."""

    def __init__(self, ranks: Iterable[int]) -> None:
        self._from_steps = [1]
        self._ranks: list[tuple[int, ...]] = [_ordered(ranks)]

    def change(self, ranks: Iterable[int], from_step: int) -> None:
        """Replaces changes from the same or later steps."""
        at = bisect_right(self._from_steps, from_step - 1)
        del self._from_steps[at:], self._ranks[at:]
        self._from_steps.append(from_step)
        self._ranks.append(_ordered(ranks))

    @property
    def changes(self) -> tuple[WorkerChange, ...]:
        """All of them, for another Aggregator."""
        return tuple(map(WorkerChange, self._from_steps, self._ranks))

    @classmethod
    def from_changes(cls, changes: Iterable[WorkerChange]) -> Self:
        """The inverse of `changes`."""
        sets = cls(())
        for each in changes:
            sets.change(each.ranks, each.from_step)
        return sets

    def at(self, step: int) -> tuple[int, ...]:
        """The ranks in a step, in order."""
        return self._ranks[max(bisect_right(self._from_steps, step) - 1, 0)]

    def first_step_of(self, rank: int, after: int) -> int | None:
        """The first step after `after` with this worker; None: there is none."""
        steps = [after + 1, *(step for step in self._from_steps if step > after + 1)]
        return next((step for step in steps if rank in self.at(step)), None)


def _ordered(ranks: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(ranks)))
