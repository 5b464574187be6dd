"""PULL, COMP, PUSH: the three subtasks of a mini-batch, each timed.

Harmony schedules them and Cruise's cost model reads them, so they are explicit objects
from the start. (De)serialisation happens outside COMM: a subtask's `wait_us` (time a server parked
the pull until its mini-batch began) is not communication either.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, TypeVar

Result = TypeVar("Result")
Clock = Callable[[], int]


class SubtaskKind(Enum):
    """The kinds of subtask; PULL and PUSH are COMM."""

    PULL = "pull"
    COMP = "comp"
    PUSH = "push"

    # Members are singletons; Enum's own hash is a Python function, called often per mini-batch.
    __hash__ = object.__hash__


class Subtask(NamedTuple):
    """One timed subtask of one mini-batch; a tuple, since three are made per mini-batch.

    `wait_us`: for other workers, or of COMP for data that were spilled.
    """

    kind: SubtaskKind
    clock: int
    start_us: int
    end_us: int
    wait_us: int = 0
    payload_bytes: int = 0

    @property
    def busy_us(self) -> int:
        """Duration without waiting."""
        return max(self.end_us - self.start_us - self.wait_us, 0)


class Transfer(NamedTuple):
    """What a COMM subtask moved, and when; messages are encoded and decoded outside it.

    `wait_us`: how long a server parked it until other workers had caught up.
    """

    payload_bytes: int = 0
    start_us: int = 0
    end_us: int = 0
    wait_us: int = 0

    def subtask(self, kind: SubtaskKind, clock: int) -> Subtask:
        """The subtask with these figures."""
        return Subtask(kind, clock, self.start_us, self.end_us, self.wait_us, self.payload_bytes)


@dataclass
class CommTimes:
    """What COMM of one kind takes while it yields to no other job."""

    busy_us: int = 0
    payload_bytes: int = 0
    count: int = 0

    def add(self, subtask: Subtask) -> None:
        """A subtask that did not yield; half of what was known before `_COMM_SAMPLES` is kept."""
        if self.count == _COMM_SAMPLES:
            self.busy_us, self.payload_bytes = self.busy_us // 2, self.payload_bytes // 2
            self.count //= 2
        self.busy_us += subtask.busy_us
        self.payload_bytes += subtask.payload_bytes
        self.count += 1

    def expected_us(self, subtask: Subtask) -> int:
        """What it would have taken without yielding, by its bytes; never more than it took."""
        if not self.count:
            return subtask.busy_us
        if self.payload_bytes:
            known = self.busy_us * subtask.payload_bytes // self.payload_bytes
        else:
            known = self.busy_us // self.count
        return min(known, subtask.busy_us)


_COMM_SAMPLES = 64


@dataclass
class HelpedWorker:
    """What was computed for another worker: in how many mini-batches, how many instances."""

    batches: int = 0
    instances: int = 0
    last_clock: int = -1

    def add(self, clock: int, instances: int) -> None:
        """Count some instances; a mini-batch is counted once."""
        self.batches += clock != self.last_clock
        self.last_clock = clock
        self.instances += instances


@dataclass
class SubtaskLog:
    """Sums over the subtasks of an epoch, and each mini-batch's duration.

    `first`: the first mini-batch of the epoch that this worker computed; `wait_us`: for other
    workers; `gate_us`: at the gate, for jobs on the same machine, those of the evaluation included;
    `load_us`: for spilled data; `room_us`: the part of that in which memory was freed for them;
    `instances`: how many COMP took in; `helped`: what of them belonged to other workers'
    parts, by worker; `comm_times`: of this and earlier epochs. `evaluation_us`: the evaluation at
    the end of the epoch, with its waits; `evaluation_busy_us`: its PULL and COMP.
    """

    first: int = 0
    busy_us: dict[SubtaskKind, int] = field(default_factory=lambda: dict.fromkeys(SubtaskKind, 0))
    payload_bytes: dict[SubtaskKind, int] = field(
        default_factory=lambda: dict.fromkeys(SubtaskKind, 0)
    )
    wait_us: int = 0
    gate_us: int = 0
    load_us: int = 0
    room_us: int = 0
    instances: int = 0
    batch_us: list[int] = field(default_factory=list)
    helped: dict[int, HelpedWorker] = field(default_factory=dict)
    evaluation_us: int = 0
    evaluation_busy_us: dict[SubtaskKind, int] = field(
        default_factory=lambda: dict.fromkeys(SubtaskKind, 0)
    )
    comm_times: dict[SubtaskKind, CommTimes] = field(
        default_factory=lambda: {kind: CommTimes() for kind in SubtaskKind}
    )

    def add_help(self, worker: int, clock: int, instances: int) -> None:
        """Count instances of another worker's part of the mini-batch at `clock`."""
        self.helped.setdefault(worker, HelpedWorker()).add(clock, instances)

    def add_comm(self, subtask: Subtask, *, yields: bool) -> None:
        """Count a COMM; of one that yields to another job, what it would take alone.

        So that profiles of jobs do not depend on their neighbours.
        """
        times = self.comm_times[subtask.kind]
        if yields:
            excess_us = subtask.busy_us - times.expected_us(subtask)
            self.busy_us[subtask.kind] -= excess_us
        else:
            times.add(subtask)
        self.add(subtask)

    def add_all(self, others: SubtaskLog) -> None:
        """Count the subtasks of a mini-batch that another thread has logged."""
        for kind in SubtaskKind:
            self.busy_us[kind] += others.busy_us[kind]
            self.payload_bytes[kind] += others.payload_bytes[kind]
        self.wait_us += others.wait_us
        self.load_us += others.load_us
        self.gate_us += others.gate_us
        self.instances += others.instances

    def add(self, subtask: Subtask) -> None:
        """Count one subtask."""
        self.busy_us[subtask.kind] += subtask.busy_us
        self.payload_bytes[subtask.kind] += subtask.payload_bytes
        if subtask.kind is SubtaskKind.COMP:
            self.load_us += subtask.wait_us
        else:
            self.wait_us += subtask.wait_us


def monotonic_us() -> int:
    """Microseconds on a clock that never goes back."""
    return time.perf_counter_ns() // 1000
