"""Moves of model blocks between servers, while workers pull and push them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from motet.domain.errors import BadInput
from motet.runtime.controller.generation.generation import Generation
from motet.runtime.controller.reconfiguration.cost import Cost, total_cost
from motet.runtime.controller.reconfiguration.shared_layout import SharedLayout
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.elastic.plan_effects import require_another
from motet.runtime.wire.control_messages import BlocksMoved, MoveBlocks, Settle
from motet.runtime.wire.exchange import answer_of, require_ok
from motet.transport import Call

# Links may be slow; the loss of an executor ends these waits at once.
_MOVE_TIMEOUT_S = 4 * 3600.0


@dataclass(frozen=True)
class _Started:
    call: Call
    destination: int


class ModelMoves:
    """May be used from several threads: moves between different servers run at once."""

    def __init__(self, generation: Generation, layout: SharedLayout) -> None:
        self._generation = generation
        self._layout = layout
        self._emptying = threading.Lock()

    def move(self, blocks: Sequence[int], source: int, destination: int) -> Cost:
        """Hand blocks over; returns when every executor uses the new owner."""
        return self._finish(self._start(blocks, source, destination))

    def empty(self, server: int) -> Cost:
        """Take the server's role away and hand its blocks to the others."""
        # One after another: no server may get blocks that is about to lose its own.
        with self._emptying:
            self._layout.edit(lambda now: _without_server(server, now))
            costs = []
            while pieces := blocks_to_hand_over(self._layout.now, server):
                started = [self._start(blocks, server, other) for other, blocks in pieces.items()]
                costs += [self._finish(each) for each in started]
            return total_cost(costs)

    def _start(self, blocks: Sequence[int], source: int, destination: int) -> _Started:
        now = self._layout.edit(lambda now: _with_model_at(destination, blocks, now))
        request = MoveBlocks(
            self._generation.number, self._generation.table, tuple(blocks), destination, now.model
        )
        return _Started(self._generation.ask(source, request), destination)

    def _finish(self, started: _Started) -> Cost:
        moved = answer_of(started.call, BlocksMoved, _MOVE_TIMEOUT_S)
        self._generation.teach(self._layout.now.model)
        settle = self._generation.ask(
            started.destination, Settle(self._generation.number, self._generation.table)
        )
        require_ok(settle.wait(_MOVE_TIMEOUT_S))
        return Cost(moved.moved_bytes, moved.took_us / 1e6)


def blocks_to_hand_over(layout: JobLayout, server: int) -> dict[int, list[int]]:
    """The blocks of a server without its role, by the servers that get them."""
    blocks = layout.model.blocks_of(server)
    target = layout.repaired().model.owners
    return {
        destination: [block for block in blocks if target[block] == destination]
        for destination in np.unique(target[blocks]).tolist()
    }


def _without_server(server: int, now: JobLayout) -> JobLayout:
    require_another(now, server, "server")
    return now.retired(server)


def _with_model_at(destination: int, blocks: Sequence[int], now: JobLayout) -> JobLayout:
    if destination not in now.servers:
        raise BadInput(f"executor {destination} is no server any more")
    return now.moved("model", blocks, destination)
