"""Workers' reports without a worker: what they say, and how they were answered."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from motet.runtime.controller.event_inbox import WorkerReport
from motet.runtime.wire.codec import decode
from motet.runtime.wire.worker_reports import EpochAnswer, EpochDone


class Answers:
    """A request that remembers the directives of its replies."""

    def __init__(self) -> None:
        self.directives: list[str] = []

    def reply(self, status: int, meta: bytes, buffers: object) -> None:
        del status, buffers
        self.directives.append(decode(EpochAnswer, meta).directive)


def done(rank: int, epoch: int, value: float = 0.0, **fields: Any) -> EpochDone:
    """The report of one mini-batch of 1 us, with one evaluation sum."""
    measured = {"first": 0, "comp_us": 1, "comm_us": 1, "wait_us": 0, "load_us": 0}
    moved = {"pulled_bytes": 0, "pushed_bytes": 0}
    arrays = {"sums": np.array([value]), "batch_us": np.array([1.0]), "helped": np.zeros((3, 0))}
    return EpochDone(**{  # type: ignore[arg-type]
        "generation": 0, "rank": rank, "epoch": epoch, **measured, **moved, **arrays, **fields
    })  # fmt: skip


def report(rank: int, epoch: int, value: float = 0.0) -> tuple[WorkerReport, Answers]:
    """A report, and where its answers are found."""
    answers = Answers()
    return WorkerReport(done(rank, epoch, value), cast(Any, answers)), answers
