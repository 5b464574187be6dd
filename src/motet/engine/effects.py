"""What a decision changes in an engine: enough to repeat the change without the policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from motet.domain.actions import Action
from motet.domain.arrays import Ints
from motet.domain.policy import Policy
from motet.domain.units import NEVER_US
from motet.engine.state.cluster_state import ClusterState


@dataclass(frozen=True)
class DeclaredPolicy:
    """The capabilities of a policy that change the engine's state; see `Policy`."""

    memory_columns: Mapping[str, int]
    wants_estimates: bool
    wants_machine_speeds: bool

    @classmethod
    def of(cls, policy: Policy) -> Self:
        """Of a policy."""
        return cls(dict(policy.memory_columns), policy.wants_estimates, policy.wants_machine_speeds)


@dataclass(frozen=True)
class DecisionEffects:
    """The effects of one decision.

    `actions`: all that follow from it, including those that wait for slots. `partners`: by job that
    starts, the jobs with which it shares GPUs. `memory`: changes of the policy's own columns, by
    name: by how much, and of which jobs, ascending. `waits`: by job, wait codes that changed.
    `recheck_at_us`: time of the next decision that the policy requested. `declared`: None: as at
    the decision before. `has_failed`: the policy was asked, but failed: nothing else follows.
    """

    actions: tuple[Action, ...]
    partners: Mapping[int, Sequence[int]]
    memory: Mapping[str, Sequence[tuple[int, Sequence[int]]]]
    waits: Mapping[int, int]
    recheck_at_us: int
    declared: DeclaredPolicy | None = None
    has_failed: bool = False

    @classmethod
    def of_failure(cls, declared: DeclaredPolicy | None) -> Self:
        """Of a policy that failed, and is asked no more."""
        return cls((), {}, {}, {}, NEVER_US, declared, has_failed=True)


class ColumnsBefore:
    """The columns that a decision writes, as they were before it."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._memory = {name: state.table.column(name).copy() for name in state.memory_columns}
        self._codes = state.table.column("wait_code").copy()

    def effects(
        self,
        actions: tuple[Action, ...],
        partners: Mapping[int, Sequence[int]],
        recheck_at_us: int,
        declared: DeclaredPolicy | None,
    ) -> DecisionEffects:
        """The effects of the decision, which has been carried out."""
        codes, numbers = self._state.table.column("wait_code"), self._state.jobs.number
        rows = np.flatnonzero(codes != self._codes)
        memory = {name: self._changes(name, before) for name, before in self._memory.items()}
        return DecisionEffects(
            actions,
            {action.job: partners[action.job] for action in actions if action.job in partners},
            {name: values for name, values in memory.items() if values},
            dict(zip(numbers[rows].tolist(), codes[rows].tolist(), strict=True)),
            recheck_at_us,
            declared,
        )

    def _changes(self, name: str, before: Ints) -> list[tuple[int, list[int]]]:
        """Many jobs change by the same amount: those behind one that left, or all by the time."""
        more, numbers = self._state.table.column(name) - before, self._state.jobs.number
        rows = np.flatnonzero(more)
        rows = rows[np.argsort(numbers[rows])]
        found: dict[int, list[int]] = {}
        for amount, number in zip(more[rows].tolist(), numbers[rows].tolist(), strict=True):
            found.setdefault(amount, []).append(number)
        return [*found.items()]
