"""What single mini-batches cost a worker: measured there, sent along with its progress."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from motet.runtime.subtask import Kind, SubtaskLog

Floats = NDArray[np.float64]

_MOST_KEPT = 256


@dataclass(frozen=True)
class BatchCost:
    """One mini-batch of one worker, in seconds and bytes.

    `comm_s`: PULL and PUSH without waiting for others; `batch_s`: all of it, waiting included;
    `instances`: this worker's; `moved_bytes`: pulled and pushed.
    """

    comp_s: float
    comm_s: float
    batch_s: float
    instances: int
    moved_bytes: int

    @classmethod
    def decoded(cls, values: Floats) -> tuple[Self, ...]:
        """From what `CostKeeper.take` returned, the oldest first."""
        rows = values.reshape(-1, 5).tolist()
        return tuple(
            cls(comp_us / 1e6, comm_us / 1e6, batch_us / 1e6, int(instances), int(moved_bytes))
            for comp_us, comm_us, batch_us, instances, moved_bytes in rows
        )


class CostKeeper:
    """Tells mini-batches apart in an epoch's sums; keeps the newest until they are taken."""

    def __init__(self) -> None:
        self._log: SubtaskLog | None = None
        self._before = np.zeros(4)
        self._kept: list[Floats] = []

    def add(self, log: SubtaskLog) -> None:
        """A mini-batch has just been added to this log."""
        if log is not self._log:
            self._log, self._before = log, np.zeros(4)
        sums = _sums(log)
        comp_us, comm_us, instances, moved = sums - self._before
        self._before = sums
        self._kept.append(np.array([comp_us, comm_us, log.batch_us[-1], instances, moved]))
        del self._kept[:-_MOST_KEPT]

    def take(self) -> Floats:
        """All that is kept, as one array for a message."""
        taken, self._kept = self._kept, []
        return np.concatenate(taken) if taken else np.empty(0)


def _sums(log: SubtaskLog) -> Floats:
    busy, moved = log.busy_us, log.payload_bytes
    return np.array(
        [
            busy[Kind.COMP],
            busy[Kind.PULL] + busy[Kind.PUSH],
            log.instances,
            moved[Kind.PULL] + moved[Kind.PUSH],
        ],
        dtype=np.float64,
    )
