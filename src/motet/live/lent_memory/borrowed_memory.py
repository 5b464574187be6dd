"""Tells the master how much memory the attempts of jobs have borrowed, for the journal."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from motet.live.lent_memory.cluster_lenders import LenderStatus
from motet.live.master.facts import MemoryBorrowed
from motet.remote_memory.wire.borrower_names import job_of_borrower

_RECORD_EVERY_S = 60.0


class BorrowedMemoryLog:
    """Records what has changed: once a minute while an attempt runs, and at its end. Used by one
    thread."""

    def __init__(self, record: Callable[[MemoryBorrowed], Any]) -> None:
        """`record`: of the master, which ignores what it knows."""
        self._record = record
        self._attempts: dict[str, tuple[int, int]] = {}
        self._told: dict[str, Mapping[str, int]] = {}
        self._next_s = 0.0

    def seen(
        self,
        lenders: Sequence[LenderStatus],
        running: Mapping[str, tuple[int, int]],
        *,
        is_current: bool,
    ) -> None:
        """`running`: jobs and attempts by the name for the lenders. `is_current`: whether all
        lenders that answer have said what is seen since these attempts run."""
        is_time = time.monotonic() >= self._next_s
        if is_time:
            self._next_s = time.monotonic() + _RECORD_EVERY_S
        self._attempts |= running
        found = _borrowed(lenders)
        for name, byte_s in found.items():
            is_due = is_time or name not in running
            if is_due and name in self._attempts and self._told.get(name) != byte_s:
                self._told[name] = byte_s
                self._record(MemoryBorrowed(*self._attempts[name], byte_s))
        if is_current and all(each.view is not None for each in lenders):
            for name in self._attempts.keys() - running.keys() - found.keys():
                del self._attempts[name]
                self._told.pop(name, None)


def _borrowed(lenders: Sequence[LenderStatus]) -> Mapping[str, Mapping[str, int]]:
    """Byte-seconds by lender, by the name of the attempt."""
    sums: dict[str, dict[str, int]] = defaultdict(dict)
    for lender in lenders:
        if lender.view is None:
            continue
        for client, byte_s in lender.view.borrowed_byte_s.items():
            name = job_of_borrower(client)
            if name is not None and byte_s >= 1:
                sums[name][str(lender.number)] = round(byte_s)
    return sums
