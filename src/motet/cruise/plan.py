"""The plan from the present placement of blocks to a wanted configuration.

Blocks move from the largest surplus to the largest deficit (Cruise, section IV-A), each at most
once, so that no byte moves unnecessarily.

A machine gets its new roles first, then blocks, and loses an old role after its last block has left
and all new roles have begun. Two machines can therefore swap roles, and every role always has a
holder.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush

from motet.cruise.machine_assignment import AssignedMachine, BlockBytes, assign_machines
from motet.cruise.machine_state import MachineState
from motet.domain.reconfiguration import Add, Delete, Move, Plan, TableName, holder_role
from motet.estimate.epoch_cost import Configuration, Fleet


def make_plan(
    current: Sequence[MachineState], fleet: Fleet, wanted: Configuration, block_bytes: BlockBytes
) -> Plan:
    """The operations that lead from `current` to `wanted`.

    `current`: every machine of the fleet, including those without an executor and those to be left.
    Raises BadInput if its number of machines of a type differs from the fleet's.
    """
    machines = assign_machines(current, fleet, wanted, block_bytes)
    moves = [*_moves(machines, "data"), *_moves(machines, "model")]
    if not moves and all(machine.state.type is not None for machine in machines):
        # Roles without blocks alone do not justify a reconfiguration.
        return Plan((), ())
    return _in_order(_adds(machines, moves), moves, _deletes(machines))


def _in_order(adds: Sequence[Add], moves: Sequence[Move], deletes: Sequence[Delete]) -> Plan:
    begins = {(add.executor, add.role): (number,) for number, add in enumerate(adds)}
    after: list[tuple[int, ...]] = [()] * len(adds)
    after += [begins.get((move.destination, holder_role(move.table)), ()) for move in moves]
    for delete in deletes:
        leaving = [i for i, move in enumerate(moves, len(adds)) if move.source == delete.executor]
        after.append((*range(len(adds)), *leaving))
    return Plan((*adds, *moves, *deletes), tuple(after))


def _adds(machines: Iterable[AssignedMachine], moves: Iterable[Move]) -> list[Add]:
    """The roles that destinations of moves lack."""
    present = {machine.state.machine: machine.state.roles for machine in machines}
    needed = dict.fromkeys((move.destination, holder_role(move.table)) for move in moves)
    return [Add(machine, role) for machine, role in needed if role not in present[machine]]


def _deletes(machines: Iterable[AssignedMachine]) -> list[Delete]:
    """The roles without blocks afterwards. An executor without a role ends."""
    deletes: list[Delete] = []
    for machine in sorted(machines, key=lambda each: each.state.machine):
        state = machine.state
        if not machine.roles:
            deletes += [Delete(state.machine)] if state.roles else []
        else:
            deletes += [Delete(state.machine, role) for role in state.roles - machine.roles]
    return deletes


def _moves(machines: Iterable[AssignedMachine], table: TableName) -> list[Move]:
    """Moves from the largest surplus to the largest deficit until there is none."""
    surplus = {machine.state.machine: machine.surplus(table) for machine in machines}
    blocks_of = {machine.state.machine: [*machine.state.blocks_of(table)] for machine in machines}
    # Heaps of (-blocks, machine): the first entry has the largest surplus or deficit.
    sources = [(-count, machine) for machine, count in surplus.items() if count > 0]
    destinations = [(count, machine) for machine, count in surplus.items() if count < 0]
    heapify(sources)
    heapify(destinations)
    moves: list[Move] = []
    while sources and destinations:
        outgoing, source = heappop(sources)
        incoming, destination = heappop(destinations)
        count = min(-outgoing, -incoming)
        blocks = tuple(blocks_of[source].pop() for _ in range(count))
        moves.append(Move(table, blocks, source, destination))
        if outgoing + count < 0:
            heappush(sources, (outgoing + count, source))
        if incoming + count < 0:
            heappush(destinations, (incoming + count, destination))
    return moves
