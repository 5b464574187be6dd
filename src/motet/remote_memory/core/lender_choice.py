"""Which lender a device takes for a slab: of two that it asks, the one with more free memory.

It asks those first that have none of its slabs yet (2.4.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

M = TypeVar("M")
CHOICES = 2
ATTEMPTS = 3
LendersToAsk = Callable[[Sequence[str], Sequence[str], np.random.Generator], list[str]]
"""Of lenders without, and of those with slabs of this device, the ones to ask."""


def lenders_to_ask(
    without: Sequence[str], with_slabs: Sequence[str], rng: np.random.Generator
) -> list[str]:
    """Two lenders at random, those without a slab of this device first.

    If only one has none yet, the other is of those with slabs, so that the fuller one is not taken
    for want of a choice.
    """
    first = _drawn(without, CHOICES, rng)
    return first + _drawn(with_slabs, CHOICES - len(first), rng)


def most_free(free_slabs: Mapping[str, int]) -> str | None:
    """The lender with the most free slabs, the first of equal ones; None: no one has any."""
    best = max(free_slabs, key=lambda name: free_slabs[name], default=None)
    return best if best is not None and free_slabs[best] > 0 else None


def find_lender(
    candidates: Sequence[str],
    mapped: Mapping[str, int],
    free_slabs: Callable[[str], int],
    map_slab: Callable[[str], M | None],
    rng: np.random.Generator,
    to_ask: LendersToAsk = lenders_to_ask,
) -> M | None:
    """The mapping of a lender with room; None: those that were asked, in some attempts, have none.

    `mapped`: number of this device's slabs by lender. `free_slabs`: QUERY_MEM. `map_slab`: MAP.
    """
    left = candidates
    for _ in range(ATTEMPTS):
        without = [name for name in left if not mapped.get(name)]
        with_slabs = [name for name in left if mapped.get(name)]
        asked = to_ask(without, with_slabs, rng)
        chosen = most_free({name: free_slabs(name) for name in asked})
        mapping = None if chosen is None else map_slab(chosen)
        if mapping is not None:
            return mapping
        left = [name for name in left if name not in asked]
        if not left:
            return None
    return None


def on_other_machines(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Lenders ("host:port") that are on none of the machines of others, for replicas.

    On the addresses of a loopback interface each lender counts as a machine.
    """
    machines = {*map(_machine_of, taken)}
    return [name for name in names if _machine_of(name) not in machines]


def _machine_of(name: str) -> str:
    host = name.rpartition(":")[0]
    is_loopback = host == "localhost" or host.startswith("127.") or host.strip("[]") == "::1"
    return name if is_loopback else host


def _drawn(names: Sequence[str], count: int, rng: np.random.Generator) -> list[str]:
    order = rng.permutation(len(names))[:count]
    return [names[place] for place in order.tolist()]
