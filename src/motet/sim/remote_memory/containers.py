"""Memory use of machines whose containers have less memory than they use (Infiniswap, 2.7.5).

A container's use grows to its working set. What exceeds its limit is paged out to the device of
its machine. When it ends, another one begins on a machine at random.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.errors import BadInput

GIB = 1 << 30
SHAPES = (1.0, 0.75, 0.5)
"""Limit of a container, as a share of its working set."""
SHARES = (0.5, 0.3, 0.2)
"""Of the containers, by shape."""
_TRIES = 8
_SPREAD = 0.5
_SHORTEST = 0.1


@dataclass(frozen=True)
class LoadAssumptions:
    """`base_bytes`: used on each machine without containers. `working_set_bytes`: the mean; they
    are uniform within half of it. `grows_s`: until a container has its working set. `lasts_s`:
    mean time from the begin to the end of a container, at least a tenth of it. `kept`: share of the
    memory of containers with less than their working set that has a copy on the device, too: the
    kernel keeps a page's place there until the page is written or places are short.

    Raises BadInput.
    """

    machines: int = 1000
    steps: int = 300
    memory_bytes: int = 64 * GIB
    base_bytes: int = 2 * GIB
    containers_per_machine: float = 90 / 32
    working_set_bytes: int = 10 * GIB
    grows_s: int = 60
    lasts_s: int = 600
    kept: float = 0.0

    def __post_init__(self) -> None:
        most_bytes = round((1 + _SPREAD) * self.working_set_bytes)
        if self.base_bytes + most_bytes > self.memory_bytes:
            raise BadInput(
                f"machines of {self.memory_bytes / GIB:.3g} GiB have no room for a container with "
                f"{most_bytes / GIB:.3g} GiB; give more memory or a smaller working set"
            )


@dataclass(frozen=True, eq=False)
class MachineLoad:
    """`own_bytes`: memory of the containers of a machine and of its base, `(steps, machines)`.
    `paged_bytes`: what they have paged out, of the same shape."""

    memory_bytes: int
    own_bytes: Ints
    paged_bytes: Ints

    @property
    def steps(self) -> int:
        """Seconds."""
        return len(self.own_bytes)

    @property
    def machines(self) -> int:
        """Number of machines."""
        return int(self.own_bytes.shape[1])


@dataclass(frozen=True)
class _Container:
    machine: int
    working_set_bytes: int
    limit_bytes: int
    ends: int


def drawn_load(assumed: LoadAssumptions, seed: int) -> MachineLoad:
    """The memory use of all machines, second by second."""
    return _Draw(assumed, np.random.default_rng(seed)).load()


class _Draw:
    def __init__(self, assumed: LoadAssumptions, rng: np.random.Generator) -> None:
        self._assumed, self._rng = assumed, rng
        shape = assumed.steps, assumed.machines
        self._own: Ints = np.full(shape, assumed.base_bytes, np.int64)
        self._paged: Ints = np.zeros(shape, np.int64)
        self._committed = [assumed.base_bytes] * assumed.machines

    def load(self) -> MachineLoad:
        count = round(self._assumed.containers_per_machine * self._assumed.machines)
        ends = list[tuple[int, int]]()
        running = dict[int, _Container]()
        for number in range(count):
            running[number] = self._begin(0)
            heapq.heappush(ends, (running[number].ends, number))
        while ends and ends[0][0] < self._assumed.steps:
            now, number = heapq.heappop(ends)
            self._committed[running[number].machine] -= running[number].limit_bytes
            running[number] = self._begin(now)
            heapq.heappush(ends, (running[number].ends, number))
        return MachineLoad(self._assumed.memory_bytes, self._own, self._paged)

    def _begin(self, now: int) -> _Container:
        """Draw a container, and add what it uses until its end."""
        assumed, rng = self._assumed, self._rng
        mean = assumed.working_set_bytes
        working_set = round(mean * rng.uniform(1 - _SPREAD, 1 + _SPREAD))
        limit = round(working_set * rng.choice(SHAPES, p=SHARES))
        shortest = max(1.0, _SHORTEST * assumed.lasts_s)
        lasts = shortest + rng.exponential(max(assumed.lasts_s - shortest, 0))
        machine = self._machine(limit)
        self._committed[machine] += limit
        ends = now + round(lasts)
        self._add(_Container(machine, working_set, limit, ends), now)
        return _Container(machine, working_set, limit, ends)

    def _machine(self, limit_bytes: int) -> int:
        """One at random with room; else the one of those tried that has most."""
        tried = self._rng.integers(self._assumed.machines, size=_TRIES).tolist()
        for machine in tried:
            if self._committed[machine] + limit_bytes <= self._assumed.memory_bytes:
                return int(machine)
        return int(min(tried, key=lambda machine: self._committed[machine]))

    def _add(self, container: _Container, now: int) -> None:
        ends = min(container.ends, self._assumed.steps)
        grown = np.arange(1, ends - now + 1) / max(self._assumed.grows_s, 1)
        used = (container.working_set_bytes * np.minimum(grown, 1.0)).astype(np.int64)
        place = slice(now, ends), container.machine
        own = np.minimum(used, container.limit_bytes)
        self._own[place] += own
        out = used - own
        pages = max(container.working_set_bytes - container.limit_bytes, 1)
        kept = np.minimum(out * (container.limit_bytes / pages), own)
        self._paged[place] += out + (self._assumed.kept * kept).astype(np.int64)
