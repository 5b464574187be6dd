"""The free GPUs in a line; the auction sells stretches of it.

The line lists machines rack by rack, those with the most free GPUs first, so that a stretch covers
few machines. The value of a stretch depends on its distribution over machines. Starts whose
stretches have equal distributions form one kind: 64 empty machines of 4 GPUs have 256 starts of 4
kinds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from motet.domain.arrays import Floats, Ints
from motet.domain.errors import BadInput
from motet.domain.snapshot import Placement

Parts = tuple[int, ...]
SlowdownOf = Callable[[Parts], float]
"""Slowdown factor of a gang with these GPU counts per machine, relative to one machine; >= 1.

A 0 among the parts marks the boundary to another rack.
"""


@dataclass(frozen=True, eq=False)
class Line:
    """`machine: (gpus,)`: the machine of each GPU. `kind: (gpus + 1,)`: kind of each start (the
    last entry: of the empty stretch). `first: (kinds,)`: the first start of each kind, from
    which its longest stretch begins. `reach`: the longest stretch for which kinds are
    distinguished. `racks: (machines,)`: of the cluster.
    """

    machine: Ints
    kind: Ints
    first: Ints
    reach: int
    racks: Ints

    @classmethod
    def of(
        cls,
        free_gpus: Sequence[int] | Ints,
        reach: int | None = None,
        racks: Sequence[int] | Ints | None = None,
    ) -> Self:
        """`free_gpus`, `racks`: of each machine (None: one rack). `reach`: the largest number of
        GPUs in any bid (None: unlimited); a small reach gives a large cluster few kinds. Raises
        BadInput.
        """
        free = np.asarray(free_gpus, dtype=np.int64)
        if (free < 0).any():
            raise BadInput(f"free_gpus={free.tolist()}: a machine has 0 free GPUs or more")
        if reach is not None and reach < 1:
            raise BadInput(f"reach={reach}: the longest stretch has at least 1 GPU")
        rack = np.zeros_like(free) if racks is None else np.asarray(racks, dtype=np.int64)
        rack_free = np.bincount(rack, free)[rack] if len(free) else free
        order = np.lexsort((-free, rack, -rack_free))
        size = int(free.sum())
        longest = size if reach is None else min(reach, size)
        machine = np.repeat(order, free[order])
        kind, first = _kinds(_growth(machine, rack), longest)
        return cls(machine, kind, first, longest, rack)

    @property
    def size(self) -> int:
        """The number of GPUs."""
        return len(self.machine)

    @property
    def kinds(self) -> int:
        """The number of kinds of starts."""
        return len(self.first)

    @property
    def machine_count(self) -> int:
        """The number of machines in the cluster."""
        return len(self.racks)

    def parts(self, start: int, gpus: int) -> Parts:
        """GPU counts of a stretch on each of its machines, along the line."""
        return _growth(self.machine[start : start + gpus], self.racks)

    def placement(self, start: int, gpus: int) -> Placement:
        """The machines of a stretch, by number, and its GPUs on them."""
        counts = Counter(self.machine[start : start + gpus].tolist())
        machines = sorted(counts)
        return Placement(tuple(machines), tuple(counts[machine] for machine in machines))

    def slowdowns(self, slowdown: SlowdownOf, most: int) -> Floats:
        """Slowdowns of stretches by kind of start and length, `(kinds, most + 1)`.

        Infinite beyond the line or `reach`. Compute this once per model, not per experiment.
        """
        known: dict[Parts, float] = {}
        table = np.full((self.kinds, most + 1), np.inf)
        for kind, start in enumerate(self.first.tolist()):
            for gpus, parts in enumerate(self._growing(start, min(most, self.reach)), start=1):
                if parts not in known:
                    known[parts] = slowdown(parts)
                table[kind, gpus] = known[parts]
        return table

    def _growing(self, start: int, most: int) -> list[Parts]:
        """The parts of the stretches of 1, 2, ... GPUs from `start`."""
        there = self.machine[start : start + most]
        whole = _growth(there, self.racks)
        return [_cut(whole, gpus) for gpus in range(1, len(there) + 1)]


def _growth(machines: Ints, racks: Ints) -> Parts:
    """GPU counts of consecutive machines, with a 0 at each rack boundary."""
    parts: list[int] = []
    before = -1
    for machine in machines.tolist():
        if machine == before:
            parts[-1] += 1
            continue
        if before >= 0 and racks[machine] != racks[before]:
            parts.append(0)
        parts.append(1)
        before = machine
    return tuple(parts)


def _kinds(free: Parts, reach: int) -> tuple[Ints, Ints]:
    """Kind by start, first start by kind; `free`: the parts of the whole line.

    A start near the end gets the kind of an earlier start whose following parts begin with its own.
    """
    kinds: dict[Parts, int] = {}
    first: list[int] = []
    kind: list[int] = []
    for start, parts in enumerate(_ahead(free, reach)):
        if parts not in kinds and sum(parts) < reach:
            parts = next((each for each in kinds if _begins_with(each, parts)), parts)
        if parts not in kinds:
            kinds[parts] = len(first)
            first.append(start)
        kind.append(kinds[parts])
    return np.array(kind), np.array(first)


def _ahead(free: Parts, reach: int) -> Iterator[Parts]:
    """The parts of the longest stretch from each start."""
    for index, size in enumerate(free):
        for left in range(size, 0, -1):
            yield _cut((left, *free[index + 1 : index + 1 + 2 * reach]), reach)
    yield ()


def _cut(parts: Parts, reach: int) -> Parts:
    """The first `reach` GPUs."""
    cut: list[int] = []
    for part in parts:
        if reach <= 0:
            break
        cut.append(min(part, reach))
        reach -= part
    return tuple(cut)


def _begins_with(parts: Parts, others: Parts) -> bool:
    """Whether stretches that fit on `others` have the same distribution on `parts`."""
    whole = max(len(others) - 1, 0)
    return parts[:whole] == others[:whole] and (
        len(others) == 0 or (len(parts) > whole and parts[whole] >= others[whole])
    )
