"""A worker's instances of one mini-batch, which lie in one or several sections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np

from motet.runtime.core.rows import Rows


class BatchRows:
    """Instances 0, 1, 2, ... over all parts."""

    def __init__(self, parts: Sequence[Rows]) -> None:
        """`parts`: views of the sections; what is written goes there."""
        self._parts = parts
        self._ends = [0, *accumulate(map(len, parts))]

    def __len__(self) -> int:
        return self._ends[-1]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(part.nbytes for part in self._parts)

    def slice(self, low: int, high: int) -> Rows:
        """Instances low..high-1 (at least one): views if they lie in one part, otherwise copies."""
        found = [self._parts[place].slice(*inside) for place, *inside in self.spans(low, high)]
        return found[0] if len(found) == 1 else Rows.concatenate(found)

    def put(self, low: int, rows: Rows) -> None:
        """Overwrite columns of the instances from `low` on."""
        done = 0
        for place, start, stop in self.spans(low, low + len(rows)):
            some = rows.slice(done, done + stop - start)
            self._parts[place].put(np.arange(start, stop), some)
            done += stop - start

    def spans(self, low: int, high: int) -> Iterator[tuple[int, int, int]]:
        """Where instances low..high-1 lie: a part's place, and the bounds inside it."""
        for place, (start, stop) in enumerate(zip(self._ends, self._ends[1:], strict=False)):
            inside = max(low, start), min(high, stop)
            if inside[0] < inside[1]:
                yield place, inside[0] - start, inside[1] - start
