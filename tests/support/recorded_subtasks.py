"""A gate and a model that write down the order in which a batch runner uses them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from motet.domain.arrays import Array, Indices
from motet.runtime.core.application import Application, Step, Update
from motet.runtime.core.partial_updates import PartialUpdate
from motet.runtime.core.schedule import BatchKeys
from motet.runtime.core.subtask import SubtaskKind, SubtaskLog, Transfer
from motet.runtime.worker.batch_subtasks import BatchSubtasks
from motet.runtime.worker.local_training import LocalModel


class RecordingGate:
    """Writes down when each subtask enters and leaves."""

    is_free = False

    def __init__(self, events: list[str]) -> None:
        self._events = events

    def begin(self) -> None:
        self._events.append("begin")

    @contextmanager
    def enter(self, kind: SubtaskKind) -> Iterator[bool]:
        self._events.append(f"enter {kind.value}")
        try:
            yield False
        finally:
            self._events.append(f"leave {kind.value}")


class RecordedModel(LocalModel):
    """The model in this process; `long_wait_us`: the reported wait for other workers."""

    def __init__(self, app: Application, values: Array, events: list[str]) -> None:
        super().__init__(app, values)
        self._events = events
        self.key_count = len(values)
        self.long_wait_us = 0
        self.pushed: list[tuple[PartialUpdate | None, int]] = []

    def await_start(self, step: Step) -> Transfer:
        self._events.append("await start")
        return Transfer(wait_us=5)

    def pull(self, part: BatchKeys, step: Step) -> tuple[Array, Transfer]:
        self._events.append("pull")
        return super().pull(part, step)

    def push(self, part: BatchKeys, update: Update | None, step: Step) -> Transfer:
        sums = None if update is None else PartialUpdate(part.keys, update)
        return self.push_at(sums, part.instances, step)

    def fetch(self, keys: Indices | None, step: Step) -> tuple[Array, Transfer]:
        self._events.append("fetch")
        return self.values if keys is None else self.values[keys], Transfer()

    def push_at(self, sums: PartialUpdate | None, instances: int, step: Step) -> Transfer:
        self._events.append("push")
        self.pushed.append((sums, instances))
        return Transfer()

    def take_wait_us(self) -> int:
        return self.long_wait_us


def step_of(clock: int, instances: int, total: int) -> Step:
    return Step(0, clock, 10, clock, instances, total, seed=0)


def subtasks_of(step: Step, events: list[str]) -> BatchSubtasks:
    """Every computation takes 20 ms by the clock of these subtasks."""
    return BatchSubtasks(step, SubtaskLog(), RecordingGate(events), count(0, 20_000).__next__)


def bracketed(kind: str, *inside: str) -> list[str]:
    """The events of one subtask."""
    return [f"enter {kind}", *inside, f"leave {kind}"]
