"""What single mini-batches cost a worker: measured there, sent along with its progress."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from motet.domain.arrays import Floats
from motet.runtime.core.subtask import SubtaskKind, SubtaskLog

_MOST_KEPT = 256
_NUMBERS = 6


@dataclass(frozen=True)
class BatchCost:
    """One mini-batch of one worker, in seconds and bytes.

    `comm_s`: PULL and PUSH without waiting for others; `batch_s`: all of it, waiting included;
    `instances`: this worker's.
    """

    comp_s: float
    comm_s: float
    batch_s: float
    instances: int
    pulled_bytes: int
    pushed_bytes: int

    @classmethod
    def decoded(cls, values: Floats) -> tuple[Self, ...]:
        """From what `CostKeeper.take` returned, the oldest first."""
        rows = values.reshape(-1, _NUMBERS).tolist()
        return tuple(
            cls(comp_us / 1e6, comm_us / 1e6, batch_us / 1e6, *map(int, counts))
            for comp_us, comm_us, batch_us, *counts in rows
        )


class CostKeeper:
    """Costs of single mini-batches from an epoch's sums; keeps the newest until they are taken."""

    def __init__(self) -> None:
        self._log: SubtaskLog | None = None
        self._before = np.zeros(_NUMBERS - 1)
        self._kept: list[Floats] = []

    def add(self, log: SubtaskLog) -> None:
        """A mini-batch has just been added to this log."""
        if log is not self._log:
            self._log, self._before = log, np.zeros(_NUMBERS - 1)
        sums = _sums(log)
        comp_us, comm_us, *counts = (sums - self._before).tolist()
        self._before = sums
        self._kept.append(np.array([comp_us, comm_us, log.batch_us[-1], *counts]))
        del self._kept[:-_MOST_KEPT]

    def take(self) -> Floats:
        """All that is kept, as one array for a message."""
        taken, self._kept = self._kept, []
        return np.concatenate(taken) if taken else np.empty(0)


def _sums(log: SubtaskLog) -> Floats:
    busy, moved = log.busy_us, log.payload_bytes
    return np.array(
        [
            busy[SubtaskKind.COMP],
            busy[SubtaskKind.PULL] + busy[SubtaskKind.PUSH],
            log.instances,
            moved[SubtaskKind.PULL],
            moved[SubtaskKind.PUSH],
        ],
        dtype=np.float64,
    )
