"""How to get from the blocks' present places to a wanted configuration with fewest bytes moved.

Machines of a type are equal, so which of them takes which place of the wanted configuration is
free: the assignment that keeps most bytes where they are, found exactly (the Hungarian method).
Then blocks go from the largest surplus to the largest deficit (Cruise, section IV-A), each at most
once; that moves no byte too many, since every one of them leaves a surplus for a deficit.

The operations form a DAG. A machine first gets an executor (`add`) or its new role (`switch`), then
blocks are moved to it; an executor that holds nothing any more is removed (`delete`). A switched
machine keeps its old blocks until they have left, so that machines can swap their roles.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Flag, auto
from heapq import heapify, heappop, heappush
from typing import Literal

import numpy as np

from motet.domain.errors import BadInput
from motet.estimate.epoch_cost import Configuration, Fleet

Table = Literal["data", "model"]


class Role(Flag):
    """What a machine does for the job."""

    IDLE = 0
    WORKER = auto()
    SERVER = auto()

    @classmethod
    def of(cls, data_blocks: int, model_blocks: int) -> Role:
        """Of a machine with so many blocks."""
        worker = cls.WORKER if data_blocks else cls.IDLE
        return worker | (cls.SERVER if model_blocks else cls.IDLE)


@dataclass(frozen=True)
class Holding:
    """What a machine holds now, by block number.

    `type`: in the fleet; None: it must be left, and its executor ends also if it holds nothing.
    """

    machine: str
    type: int | None
    data_blocks: tuple[int, ...] = ()
    model_blocks: tuple[int, ...] = ()

    @property
    def role(self) -> Role:
        """What it does now."""
        return Role.of(len(self.data_blocks), len(self.model_blocks))


@dataclass(frozen=True)
class BlockBytes:
    """Bytes of one block of each table."""

    data: float
    model: float


@dataclass(frozen=True)
class Add:
    """Start an executor in this role."""

    machine: str
    role: Role
    after: tuple[int, ...] = ()


@dataclass(frozen=True)
class Switch:
    """Give a running executor this role; the old one ends when its last block has left."""

    machine: str
    role: Role
    after: tuple[int, ...] = ()


@dataclass(frozen=True)
class Move:
    """Move these blocks of a table."""

    table: Table
    blocks: tuple[int, ...]
    source: str
    destination: str
    after: tuple[int, ...] = ()


@dataclass(frozen=True)
class Delete:
    """Stop an executor, which holds nothing any more."""

    machine: str
    after: tuple[int, ...] = ()


Operation = Add | Switch | Move | Delete


@dataclass(frozen=True)
class Plan:
    """Operations, each behind those that it waits for: `after` holds their positions."""

    operations: tuple[Operation, ...]
    moved_bytes: float

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.operations


@dataclass(frozen=True)
class _Place:
    """A machine and how many blocks it shall hold."""

    holding: Holding
    data: int
    model: int

    @property
    def role(self) -> Role:
        return Role.of(self.data, self.model)

    def surplus(self, table: Table) -> int:
        """How many blocks it holds too many (below 0: too few)."""
        if table == "data":
            return len(self.holding.data_blocks) - self.data
        return len(self.holding.model_blocks) - self.model


def make_plan(
    current: Sequence[Holding], fleet: Fleet, wanted: Configuration, block_bytes: BlockBytes
) -> Plan:
    """The operations that lead from `current` to `wanted`.

    `current`: every machine of the fleet, also the idle ones, and those that must be left. Raises
    BadInput if they are not as many of each type as the fleet has.
    """
    places = _places(current, fleet, wanted, block_bytes)
    operations: list[Operation] = []
    starts: dict[str, tuple[int, ...]] = {}
    for place in places:
        if start := _start(place):
            starts[place.holding.machine] = (len(operations),)
            operations.append(start)
    moves = [*_moves(places, "data", starts), *_moves(places, "model", starts)]
    first_move = len(operations)
    operations += moves
    for place in places:
        must_end = place.holding.role or place.holding.type is None
        if must_end and not place.role:
            leaving = place.holding.machine
            after = [i for i, move in enumerate(moves, first_move) if move.source == leaving]
            operations.append(Delete(leaving, tuple(after)))
    moved_bytes = sum(len(move.blocks) * getattr(block_bytes, move.table) for move in moves)
    return Plan(tuple(operations), moved_bytes)


def _start(place: _Place) -> Add | Switch | None:
    machine = place.holding.machine
    before, then = place.holding.role, place.role
    if not then or before == then:
        return None
    return Switch(machine, then) if before else Add(machine, then)


def _places(
    current: Sequence[Holding], fleet: Fleet, wanted: Configuration, block_bytes: BlockBytes
) -> list[_Place]:
    """Every machine with its place in the wanted configuration."""
    places = [_Place(holding, 0, 0) for holding in current if holding.type is None]
    for kind in range(len(fleet.types)):
        same = [holding for holding in current if holding.type == kind]
        slots = np.flatnonzero(fleet.type_of == kind).tolist()
        if len(same) != len(slots):
            raise BadInput(
                f"{len(same)} machines of type {fleet.types[kind].name}, the fleet has {len(slots)}"
            )
        targets = [(wanted.data_blocks[slot], wanted.model_blocks[slot]) for slot in slots]
        places += _assigned(same, targets, block_bytes)
    return places


def _assigned(
    holdings: Sequence[Holding], targets: Sequence[tuple[int, int]], block_bytes: BlockBytes
) -> list[_Place]:
    """Give each machine a target so that fewest bytes come in; then, fewest roles change."""
    from scipy.optimize import linear_sum_assignment

    have_data = np.array([len(holding.data_blocks) for holding in holdings])[:, None]
    have_model = np.array([len(holding.model_blocks) for holding in holdings])[:, None]
    want_data, want_model = np.array(targets).reshape(-1, 2).T
    incoming = np.maximum(want_data - have_data, 0) * block_bytes.data
    incoming = incoming + np.maximum(want_model - have_model, 0) * block_bytes.model
    changes = ((want_data > 0) != (have_data > 0)).astype(float)
    changes += (want_model > 0) != (have_model > 0)
    least_bytes = min(block_bytes.data, block_bytes.model)
    cost = incoming + changes * least_bytes / (4 * len(targets) + 1)
    # Every machine has its row, in order.
    _, columns = linear_sum_assignment(cost)
    taken = [targets[column] for column in columns.tolist()]
    return [_Place(holding, *target) for holding, target in zip(holdings, taken, strict=True)]


def _moves(
    places: Iterable[_Place], table: Table, starts: dict[str, tuple[int, ...]]
) -> list[Move]:
    """From the largest surplus to the largest deficit until there is none."""
    surplus = {place.holding.machine: place.surplus(table) for place in places}
    spare = {
        place.holding.machine: _blocks(place.holding, table)
        for place in places
        if place.surplus(table) > 0
    }
    givers = [(-count, machine) for machine, count in surplus.items() if count > 0]
    takers = [(count, machine) for machine, count in surplus.items() if count < 0]
    heapify(givers)
    heapify(takers)
    moves: list[Move] = []
    while givers and takers:
        given, source = heappop(givers)
        taken, destination = heappop(takers)
        count = min(-given, -taken)
        blocks = tuple(spare[source].pop() for _ in range(count))
        moves.append(Move(table, blocks, source, destination, starts.get(destination, ())))
        if given + count < 0:
            heappush(givers, (given + count, source))
        if taken + count < 0:
            heappush(takers, (taken + count, destination))
    return moves


def _blocks(holding: Holding, table: Table) -> list[int]:
    return list(holding.data_blocks if table == "data" else holding.model_blocks)
