"""Which keys go to which owner, and where their values stand in the caller's array.

A `KeyPlan` is made once for a set of keys and reused: its routes are worked out again only when the
ownership table changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motet.domain.arrays import Array, Indices
from motet.runtime.core.partition import Partition
from motet.runtime.wire.ownership import Ownership
from motet.runtime.wire.table_requests import Selection


@dataclass(frozen=True, eq=False)
class Route:
    """One owner's part of a plan.

    The values of `selection`, in its order, stand in the caller's array at `runs` (contiguous
    stretches), or at `index` when they are scattered (hash partition).
    """

    owner: int
    selection: Selection
    encoded: bytes
    row_count: int
    runs: tuple[slice, ...] | None
    index: Indices | None
    is_whole: bool = False

    def views(self, array: Array) -> list[Array] | None:
        """The stretches of `array` that this route fills, or None when they are scattered."""
        if self.is_whole:
            return [array]
        return None if self.runs is None else [array[run] for run in self.runs]

    def part_of(self, array: Array) -> list[Array]:
        """This route's values out of `array`, ready to be sent."""
        views = self.views(array)
        return [np.ascontiguousarray(array[self.index])] if views is None else views

    def chunks(self, row_limit: int, partition: Partition) -> list[Route]:
        """This route in pieces of at most `row_limit` rows (but at least one block)."""
        if self.row_count <= row_limit:
            return [self]
        numbers = self.selection.blocks.tolist()
        groups = _groups(numbers, self._rows_per_block(partition), row_limit)
        return [self._sub_route(group, partition) for group in groups]

    def _rows_per_block(self, partition: Partition) -> list[int]:
        if self.selection.counts is not None:
            return [int(count) for count in self.selection.counts]
        return [partition.rows_in(number) for number in self.selection.blocks.tolist()]

    def _sub_route(self, places: range, partition: Partition) -> Route:
        sizes = self._rows_per_block(partition)
        low = sum(sizes[: places.start])
        high = low + sum(sizes[places.start : places.stop])
        blocks = self.selection.blocks[places.start : places.stop]
        counts = self.selection.counts
        rows = self.selection.rows
        part = Selection(
            blocks,
            None if counts is None else counts[places.start : places.stop],
            None if rows is None else rows[low:high],
        )
        positions = self._positions()[low:high]
        return _route(self.owner, part, positions)

    def _positions(self) -> Indices:
        if self.index is not None:
            return self.index
        assert self.runs is not None
        return np.concatenate([np.arange(run.start, run.stop) for run in self.runs])


class KeyPlan:
    """A set of keys, divided into blocks once."""

    def __init__(self, partition: Partition, keys: Indices | None, *, cover_all: bool) -> None:
        """`keys`: unique; None: all keys. `cover_all`: name blocks without keys, too (mini-
        batches).
        """
        self.partition = partition
        self.keys = keys
        self.length = partition.key_count if keys is None else len(keys)
        self._positions: dict[int, Indices] = {}
        self._rows: dict[int, NDArray[np.uint32]] = {}
        if keys is None:
            self.blocks: list[int] = list(range(partition.block_count))
        else:
            self.blocks = self._divide(keys, cover_all)
        self.block_numbers = np.array(self.blocks, dtype=np.int64)
        self._routes: tuple[int, list[Route]] = (-1, [])
        self._chunks: tuple[int, dict[int, list[Route]]] = (-1, {})

    def routes(self, ownership: Ownership) -> list[Route]:
        """One route per owner."""
        version, routes = self._routes
        if version != ownership.version:
            routes = self.split(self.blocks, ownership)
            self._routes = (ownership.version, routes)
        return routes

    def chunks(self, ownership: Ownership, row_limit: int) -> list[Route]:
        """The routes in pieces of at most `row_limit` rows (but at least one block)."""
        version, chunks = self._chunks
        if version != ownership.version:
            self._chunks = (ownership.version, chunks := {})
        if row_limit not in chunks:
            pieces = [r.chunks(row_limit, self.partition) for r in self.routes(ownership)]
            chunks[row_limit] = [chunk for route in pieces for chunk in route]
        return chunks[row_limit]

    def split(self, blocks: Iterable[int], ownership: Ownership) -> list[Route]:
        """Routes for some of the plan's blocks."""
        by_owner: dict[int, list[int]] = {}
        for block in blocks:
            by_owner.setdefault(int(ownership.owners[block]), []).append(block)
        return [self._route_to(owner, mine) for owner, mine in sorted(by_owner.items())]

    def _divide(self, keys: Indices, cover_all: bool) -> list[int]:
        blocks = self.partition.block_of(keys)
        order = np.argsort(blocks, kind="stable")
        rows = self.partition.row_of(keys).astype(np.uint32)
        used, starts = np.unique(blocks[order], return_index=True)
        for block, positions in zip(used, np.split(order, starts)[1:], strict=True):
            self._positions[int(block)] = positions
            self._rows[int(block)] = rows[positions]
        if cover_all:
            return list(range(self.partition.block_count))
        return [int(block) for block in used]

    def _route_to(self, owner: int, blocks: list[int]) -> Route:
        numbers = np.array(blocks, dtype=np.uint32)
        if self.keys is None:
            slices = [self.partition.slice_of(block) for block in blocks]
            positions = np.concatenate([np.arange(s.start, s.stop, s.step) for s in slices])
            return _route(owner, Selection(numbers), positions, self.length)
        nothing = np.empty(0, np.int64)
        positions = np.concatenate([self._positions.get(block, nothing) for block in blocks])
        rows = [self._rows.get(block, nothing.astype(np.uint32)) for block in blocks]
        counts = np.array([len(part) for part in rows], dtype=np.uint32)
        selection = Selection(numbers, counts, np.concatenate(rows))
        return _route(owner, selection, positions, self.length)


def _route(owner: int, selection: Selection, positions: Indices, length: int = -1) -> Route:
    """`length`: of the caller's array, to know whether the route fills all of it in order."""
    runs = _runs(positions)
    scattered = len(runs) > 2 * len(selection.blocks)
    return Route(
        owner,
        selection,
        selection.encode(),
        len(positions),
        None if scattered else runs,
        positions if scattered else None,
        runs == (slice(0, length),),
    )


def _runs(positions: Indices) -> tuple[slice, ...]:
    if not len(positions):
        return ()
    breaks = np.flatnonzero(np.diff(positions) != 1) + 1
    return tuple(slice(int(part[0]), int(part[-1]) + 1) for part in np.split(positions, breaks))


def _groups(blocks: list[int], sizes: list[int], limit: int) -> list[range]:
    groups: list[range] = []
    start, total = 0, 0
    for place in range(len(blocks)):
        if total and total + sizes[place] > limit:
            groups.append(range(start, place))
            start, total = place, 0
        total += sizes[place]
    groups.append(range(start, len(blocks)))
    return groups
