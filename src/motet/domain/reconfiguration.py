"""Changes of a running parameter-server job as values: add, delete, switch, move, plans of them.

An executor has the number of its machine. A plan is a DAG: operations without an order between
them run concurrently (Cruise, Lee et al., ICDCS 2019, section IV).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

Role: TypeAlias = Literal["worker", "server"]
TableName: TypeAlias = Literal["model", "data"]


@dataclass(frozen=True)
class RoleCounts:
    """Numbers of workers and servers; an executor with both roles counts twice."""

    workers: int
    servers: int

    @property
    def executors(self) -> int:
        """Of separate workers and servers."""
        return self.workers + self.servers


@dataclass(frozen=True)
class Add:
    """The executor of a machine gets an additional role; it has no blocks yet."""

    executor: int
    role: Role

    def __str__(self) -> str:
        return f"add {self.role} {self.executor}"


@dataclass(frozen=True)
class Delete:
    """An executor loses a role (None: all); its remaining blocks move to other executors.

    An executor without a role ends.
    """

    executor: int
    role: Role | None = None

    def __str__(self) -> str:
        return f"delete {self.role or 'executor'} {self.executor}"


@dataclass(frozen=True)
class Switch:
    """An executor changes its role to worker or server only, in the same process."""

    executor: int
    role: Role

    def __str__(self) -> str:
        return f"switch {self.executor} to {self.role}"


@dataclass(frozen=True)
class Move:
    """Blocks of a table change their owner."""

    table: TableName
    blocks: tuple[int, ...]
    source: int
    destination: int

    def __str__(self) -> str:
        return (
            f"move {len(self.blocks)} {self.table} block(s) "
            f"from {self.source} to {self.destination}"
        )


Operation: TypeAlias = Add | Delete | Switch | Move


@dataclass(frozen=True)
class Plan:
    """Operations; operation i begins when all operations `after[i]` (smaller numbers) are done."""

    operations: tuple[Operation, ...]
    after: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if len(self.after) != len(self.operations):
            raise ValueError("`after` needs one entry per operation")
        if any(not 0 <= k < i for i, before in enumerate(self.after) for k in before):
            raise ValueError("an operation may only wait for operations before it")

    @classmethod
    def of(cls, operations: Iterable[Operation]) -> Self:
        """Each operation waits for earlier operations on the same executors.

        An operation that ends a role also waits for every earlier operation that begins one.
        """
        listed = tuple(operations)
        after = tuple(
            tuple(k for k in range(i) if _must_wait(operation, listed[k]))
            for i, operation in enumerate(listed)
        )
        return cls(listed, after)

    @property
    def is_empty(self) -> bool:
        """Whether the plan has no operations."""
        return not self.operations


def holder_role(table: TableName) -> Role:
    """The role in which an executor holds blocks of a table."""
    return "worker" if table == "data" else "server"


def _must_wait(operation: Operation, earlier: Operation) -> bool:
    ends_role = isinstance(operation, Delete | Switch)
    if ends_role and isinstance(earlier, Add | Switch):
        return True
    return not _touched(operation).isdisjoint(_touched(earlier))


def _touched(operation: Operation) -> set[int]:
    if isinstance(operation, Move):
        return {operation.source, operation.destination}
    return {operation.executor}
