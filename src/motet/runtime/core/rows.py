"""Rows: a set of training instances as columns of NumPy arrays.

An input-table block, a worker's share of the data and one mini-batch are all `Rows`. A column is
either fixed (an array whose first axis is the instance) or ragged (`Ragged`: a varying number of
entries per instance, as in CSR). State that travels with an instance (NMF's user factors, LDA's
topic assignments) is just another column. Slices are views: what an application writes into a state
column of a mini-batch is written into the worker's share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from motet.domain.arrays import Array, Indices


@dataclass(frozen=True, eq=False)
class Ragged:
    """A column with a varying number of entries per instance.

    `offsets: (n + 1,), int64`, starting at 0; instance i owns `values[offsets[i]:offsets[i + 1]]`.
    """

    offsets: Indices
    values: Array

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def slice(self, low: int, high: int) -> Ragged:
        """Instances low..high-1; `values` is a view."""
        start, stop = self.offsets[low], self.offsets[high]
        return Ragged(self.offsets[low : high + 1] - start, self.values[start:stop])

    def take(self, indices: Indices) -> Ragged:
        """The instances named by `indices`, in that order (a copy)."""
        lengths = np.diff(self.offsets)[indices]
        offsets = _offsets_of(lengths)
        starts = np.repeat(self.offsets[:-1][indices] - offsets[:-1], lengths)
        return Ragged(offsets, self.values[starts + np.arange(offsets[-1])])

    def put(self, indices: Indices, other: Ragged) -> None:
        """Overwrite the entries of these instances, which are as many as in `other`, in place."""
        starts = np.repeat(self.offsets[:-1][indices] - other.offsets[:-1], np.diff(other.offsets))
        self.values[starts + np.arange(len(other.values))] = other.values

    @staticmethod
    def concatenate(parts: Sequence[Ragged]) -> Ragged:
        """The parts one after another."""
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        return Ragged(_offsets_of(lengths), np.concatenate([part.values for part in parts]))


Column = Array | Ragged


@dataclass(frozen=True, eq=False)
class Rows:
    """Instances: `ids: (n,), int64` (unique over the job) and named columns of n entries each."""

    ids: Indices
    columns: Mapping[str, Column]

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, name: str) -> Array:
        """The fixed column `name`: `(n, ...)`."""
        column = self.columns[name]
        if isinstance(column, Ragged):
            raise TypeError(f"column {name!r} is ragged; use rows.ragged({name!r})")
        return column

    def ragged(self, name: str) -> Ragged:
        """The ragged column `name`."""
        column = self.columns[name]
        if not isinstance(column, Ragged):
            raise TypeError(f"column {name!r} is fixed; use rows[{name!r}]")
        return column

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.ids.nbytes + sum(array.nbytes for _, array in self.arrays())

    def slice(self, low: int, high: int) -> Rows:
        """Instances low..high-1 as views."""
        columns = {
            name: c.slice(low, high) if isinstance(c, Ragged) else c[low:high]
            for name, c in self.columns.items()
        }
        return Rows(self.ids[low:high], columns)

    def ordered_by_id(self) -> Rows:
        """All instances in the order of their ids, as copies."""
        return self.take(np.argsort(self.ids))

    def seen_by_id(self) -> Rows:
        """The same to read only: these rows themselves if they have that order already."""
        return self if np.all(self.ids[:-1] < self.ids[1:]) else self.ordered_by_id()

    def take(self, indices: Indices) -> Rows:
        """The instances named by `indices` (positions, not ids), in that order, as copies."""
        columns = {
            name: c.take(indices) if isinstance(c, Ragged) else c[indices]
            for name, c in self.columns.items()
        }
        return Rows(self.ids[indices], columns)

    def put(self, indices: Indices, other: Rows) -> None:
        """Overwrite `other`'s columns at these positions, in place."""
        for name, column in other.columns.items():
            if isinstance(column, Ragged):
                self.ragged(name).put(indices, column)
            else:
                self[name][indices] = column

    def select(self, names: Iterable[str]) -> Rows:
        """The same instances with only these columns."""
        return Rows(self.ids, {name: self.columns[name] for name in names})

    def with_columns(self, columns: Mapping[str, Column]) -> Rows:
        """The same instances with columns added or replaced."""
        return Rows(self.ids, {**self.columns, **columns})

    @staticmethod
    def concatenate(parts: Sequence[Rows]) -> Rows:
        """The parts one after another; all have the same columns."""
        if not parts:
            raise ValueError("nothing to concatenate")
        columns: dict[str, Column] = {}
        for name, first in parts[0].columns.items():
            if isinstance(first, Ragged):
                columns[name] = Ragged.concatenate([part.ragged(name) for part in parts])
            else:
                columns[name] = np.concatenate([part[name] for part in parts])
        return Rows(np.concatenate([part.ids for part in parts]), columns)

    def arrays(self) -> Iterator[tuple[str, Array]]:
        """Every array except `ids` under a flat name (`x`, or `x:offsets` and `x:values`)."""
        for name, column in self.columns.items():
            if isinstance(column, Ragged):
                yield f"{name}:offsets", column.offsets
                yield f"{name}:values", column.values
            else:
                yield name, column

    @staticmethod
    def from_arrays(ids: Indices, arrays: Mapping[str, Array]) -> Rows:
        """The inverse of `arrays`."""
        columns: dict[str, Column] = {}
        for name, array in arrays.items():
            base, _, part = name.partition(":")
            if not part:
                columns[name] = array
            elif part == "offsets":
                columns[base] = Ragged(array, arrays[f"{base}:values"])
        return Rows(ids, columns)


def _offsets_of(lengths: Indices) -> Indices:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
