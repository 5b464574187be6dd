"""Plans of random operations that are possible in the layout of the moment."""

from __future__ import annotations

import random

from motet.domain.errors import BadInput
from motet.domain.reconfiguration import Add, Delete, Move, Operation, Plan, Switch
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.elastic.plan_effects import layout_after_operation


class RandomPlans:
    """A plan maker; the same seed gives the same plans for the same layouts."""

    def __init__(self, seed: int, machine_count: int, operations: int = 3) -> None:
        self._random = random.Random(seed)
        self._machine_count = machine_count
        self._operations = operations

    def __call__(self, layout: JobLayout) -> Plan:
        chosen: list[Operation] = []
        while len(chosen) < self._operations:
            operation = self._operation(layout)
            try:
                layout = layout_after_operation(layout, operation, range(self._machine_count))
            except BadInput:
                continue
            chosen.append(operation)
        return Plan.of(chosen)

    def _operation(self, layout: JobLayout) -> Operation:
        draw = self._random
        executor = draw.randrange(self._machine_count)
        role = draw.choice(["worker", "server"])
        kind = draw.choice(["add", "delete", "switch", "move", "move", "move"])
        if kind == "add":
            return Add(executor, role)
        if kind == "delete":
            return Delete(executor, draw.choice([None, role]))
        if kind == "switch":
            return Switch(executor, role)
        return self._move(layout)

    def _move(self, layout: JobLayout) -> Move:
        table = self._random.choice(["model", "data"])
        owned = layout.owners(table)
        source = int(self._random.choice(owned.owners.tolist()))
        blocks = owned.blocks_of(source)
        some = self._random.sample(blocks, self._random.randint(1, len(blocks)))
        holders = layout.holders("worker" if table == "data" else "server")
        return Move(table, tuple(sorted(some)), source, self._random.choice(holders))
