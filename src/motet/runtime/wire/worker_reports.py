"""What workers report to the controller, and its answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from motet.domain.arrays import Floats
from motet.runtime.wire.control_messages import ControlRequest
from motet.runtime.wire.messages import RequestKind

Directive: TypeAlias = Literal["continue", "stop"]


@dataclass(frozen=True, eq=False)
class BatchDone(ControlRequest):
    """Executor `rank` finished a mini-batch.

    `leads`: it is the first of the workers; `costs`: of its mini-batches since its last report,
    as `BatchCost.decoded` reads them.
    """

    kind = RequestKind.BATCH_DONE
    rank: int
    epoch: int
    batch: int
    leads: bool
    costs: Floats


@dataclass(frozen=True, eq=False)
class EpochDone(ControlRequest):
    """Executor `rank` finished an epoch; answered by EpochAnswer, which is the epoch barrier.

    `first`: its first mini-batch of the epoch; `load_us`: for which COMP waited for spilled data,
    `room_us`: the part of that in which memory was freed for them;
    `batch_us: (mini-batches,)`; `sums`: its evaluation sums, none for no instances;
    `helped: (3, workers)`: for whom it computed (executor), in how many mini-batches, and how many
    instances; `memory_bytes`: what the job has on its machine. `evaluation_us`: COMP and PULL of
    the evaluation, and all of it. `cpu_us`: CPU time of its process since its report before, or
    since the generation began. `gate_us`: for which its subtasks waited for those of other jobs.
    """

    kind = RequestKind.EPOCH_DONE
    rank: int
    epoch: int
    first: int
    comp_us: int
    comm_us: int
    wait_us: int
    load_us: int
    pulled_bytes: int
    pushed_bytes: int
    sums: Floats
    batch_us: Floats
    helped: Floats
    memory_bytes: int = 0
    room_us: int = 0
    evaluation_us: Floats = field(default_factory=lambda: np.zeros(3))
    cpu_us: int = 0
    gate_us: int = 0


@dataclass(frozen=True, eq=False)
class WorkIsPaused(ControlRequest):
    """Executor `rank` has done all mini-batches before `clock`, and begins no other one."""

    kind = RequestKind.WORK_PAUSED
    rank: int
    clock: int


@dataclass(frozen=True)
class EpochAnswer:
    """Whether the worker goes on with the next epoch."""

    directive: Directive
