"""Sets of jobs that hold the same GPUs, and the columns that describe them."""

from __future__ import annotations

import numpy as np

from motet.domain.snapshot import UNKNOWN
from motet.engine.state.table import ActiveTable

SHARED_SET = "shared_set"
"""The engine's column with the number of a job's set; UNKNOWN: the job shares with none. A set gets
a new number whenever a job joins or leaves it, so that drivers see whose speed changes."""


class SharedSlots:
    """Updates `partner`, `sharers` and SHARED_SET of all members when a set changes."""

    def __init__(self) -> None:
        self._sets: dict[int, set[int]] = {}
        self._last = 0

    def others(self, number: int) -> list[int]:
        """The other jobs on the job's GPUs, ascending."""
        members = self._sets.get(number)
        return [] if members is None else sorted(members - {number})

    def join(self, number: int, host: int, table: ActiveTable) -> None:
        """The job holds the GPUs of `host` and of all jobs that share them."""
        members = self._sets.setdefault(host, {host})
        members.add(number)
        self._sets[number] = members
        self._describe(members, table)

    def leave(self, number: int, table: ActiveTable) -> bool:
        """The job gives up its GPUs; returns whether other jobs keep them."""
        members = self._sets.pop(number, None)
        if members is None:
            return False
        members.discard(number)
        _set_columns(table, number, UNKNOWN, 1, UNKNOWN)
        self._describe(members, table)
        return True

    def copy(self) -> SharedSlots:
        """An independent copy."""
        twin = SharedSlots()
        twins = {id(members): set(members) for members in self._sets.values()}
        twin._sets = {job: twins[id(members)] for job, members in self._sets.items()}
        twin._last = self._last
        return twin

    def restore(self, table: ActiveTable) -> None:
        """Continue with the sets of these jobs."""
        self._sets = {}
        column, numbers = table.column(SHARED_SET), table.jobs.number
        for name in np.unique(column[column != UNKNOWN]).tolist():
            members = set(numbers[column == name].tolist())
            self._sets.update(dict.fromkeys(members, members))
        self._last = max(self._last, int(column.max(initial=0)))

    def _describe(self, members: set[int], table: ActiveTable) -> None:
        if len(members) == 1:
            (left,) = members
            del self._sets[left]
            _set_columns(table, left, UNKNOWN, 1, UNKNOWN)
            return
        self._last += 1
        first, second = sorted(members)[:2]
        for number in members:
            partner = second if number == first else first
            _set_columns(table, number, partner, len(members), self._last)


def _set_columns(table: ActiveTable, number: int, partner: int, sharers: int, name: int) -> None:
    row = table.row_of(number)
    table.jobs.partner[row], table.jobs.sharers[row] = partner, sharers
    table.column(SHARED_SET)[row] = name
