"""A change of the configuration that is being carried out. Pure."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from motet.domain.reconfiguration import Add, Delete, Move, Plan


@dataclass(frozen=True)
class ChangeInProgress:
    """The change of one decision.

    `decision`: the decision's index in the history; `predicted_s`: the epoch that it predicts;
    `leaving`: the machines that were to leave when it was made.
    """

    decision: int
    plan: Plan
    predicted_s: float | None
    leaving: Set[int]

    def overlooks(self, leaving: Set[int], executors: Set[int]) -> bool:
        """Whether machines leave that the plan leads to, or does not lead away from.

        `executors`: the machines that have one now.
        """
        emptied, used = set[int](), set[int]()
        for operation in self.plan.operations:
            if isinstance(operation, Move):
                used.add(operation.destination)
            elif isinstance(operation, Add):
                used.add(operation.executor)
            elif isinstance(operation, Delete) and operation.role is None:
                emptied.add(operation.executor)
        return not (leaving - self.leaving - emptied).isdisjoint(executors | used)
