"""How even memory use is, and what that cost."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from motet.domain.arrays import Ints
from motet.sim.remote_memory.replay import LendingHistory


@dataclass(frozen=True)
class Balance:
    """Means over time. `utilisation`: share of all memory that is used. The others are ratios of
    machines' memory use."""

    utilisation: float
    max_median: float
    max_min: float
    p99_median: float


PAPER_WITHOUT = Balance(0.408, 2.36, 22.5, float("nan"))
PAPER_WITH = Balance(0.60, 1.6, 2.7, float("nan"))
"""Figure 2.18: 32 machines, about 90 containers."""


@dataclass(frozen=True)
class LendingSummary:
    """`remote`: share of the slabs that devices use which lenders have. `unused`: share of the lent
    slabs that their device does not use any more. `evictions` and `placements`: of slabs."""

    name: str
    balance: Balance
    remote: float
    unused: float
    placements: int
    refused: int
    evictions: int
    busy_evictions: int
    mean_evicted_rate: float

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def settled(steps: int) -> slice:
    """The second half: all containers of the beginning have grown by then."""
    return slice(steps // 2, steps)


def balance(used_bytes: Ints, memory_bytes: int) -> Balance:
    """`used_bytes`: `(steps, machines)`."""
    median = np.median(used_bytes, axis=1)
    most = used_bytes.max(axis=1)
    p99 = np.percentile(used_bytes, 99, axis=1)
    return Balance(
        float(used_bytes.mean() / memory_bytes),
        float((most / median).mean()),
        float((most / used_bytes.min(axis=1)).mean()),
        float((p99 / median).mean()),
    )


def summarise_lending(history: LendingHistory) -> LendingSummary:
    """Balance and shares of the second half; counts of all seconds."""
    part = settled(history.load.steps)
    lent = int(history.lent_slabs[part].sum())
    remote = int(history.remote_slabs[part].sum())
    rates = history.evicted_rates
    return LendingSummary(
        history.strategy.name,
        balance(history.used_bytes[part], history.load.memory_bytes),
        remote / max(int(history.used_slabs[part].sum()), 1),
        (lent - remote) / max(lent, 1),
        history.placed,
        history.refused,
        len(rates),
        history.busy_evictions,
        float(np.mean(rates)) if rates else 0.0,
    )
