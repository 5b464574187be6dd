"""The subtasks of one worker's part of a mini-batch: each passes the gate and is logged once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from motet.domain.arrays import Array
from motet.runtime.core.application import Step, Update
from motet.runtime.core.schedule import BatchKeys
from motet.runtime.core.subtask import (
    Clock,
    Result,
    Subtask,
    SubtaskKind,
    SubtaskLog,
    Transfer,
    monotonic_us,
)
from motet.runtime.worker.model_port import ModelPort
from motet.runtime.worker.share import BatchPart
from motet.runtime.worker.subtask_gate import OPEN_GATE, SubtaskGate, admitted


class BatchSubtasks:
    """Runs PULL, COMP and PUSH of the mini-batch `step`; the only place that enters the gate.

    A subtask that raises leaves the gate and is not logged. Waiting for the gate is part of no
    subtask: it counts in the mini-batch's duration and in `SubtaskLog.gate_us`.
    """

    def __init__(
        self,
        step: Step,
        log: SubtaskLog,
        gate: SubtaskGate = OPEN_GATE,
        now_us: Clock = monotonic_us,
    ) -> None:
        self.step = step
        self.log = log
        self._gate = gate
        self._now_us = now_us

    def pull(
        self, model: ModelPort, part: BatchKeys, is_read: bool = True
    ) -> tuple[Array, Transfer]:
        """The values that the mini-batch starts with; zeros unless they are read."""
        if not self._gate.is_free:
            self.log.wait_us += model.await_start(self.step).wait_us
            self._gate.begin()
        return self.pull_at_once(model, part, is_read)

    def begin(self) -> None:
        """The mini-batch begins."""
        if not self._gate.is_free:
            self._gate.begin()

    def pull_at_once(
        self, model: ModelPort, part: BatchKeys, is_read: bool
    ) -> tuple[Array, Transfer]:
        """As `pull`, of a mini-batch that waits for no other worker."""
        pull = model.pull if is_read else model.pull_zeros
        return self.fetch(lambda: pull(part, self.step))

    def beside(self, step: Step, log: SubtaskLog) -> BatchSubtasks:
        """Subtasks of the mini-batch `step` that run on another thread, counted in its `log`."""
        return BatchSubtasks(step, log, self._gate, self._now_us)

    def fetch(self, read: Callable[[], tuple[Array, Transfer]]) -> tuple[Array, Transfer]:
        """Another PULL of a mini-batch that has begun."""
        with admitted(self._gate, SubtaskKind.PULL, self.log, self._now_us) as yields:
            values, transfer = read()
        done = transfer.subtask(SubtaskKind.PULL, self.step.clock)
        self.log.add_comm(done, yields=yields)
        return values, transfer

    @contextmanager
    def loaded(self, part: BatchPart) -> Iterator[None]:
        """With the part's first section in memory; waiting for it is no part of COMP."""
        before_us = part.waited_us
        with part.begun():
            self.log.load_us += part.waited_us - before_us
            yield

    def compute(
        self,
        work: Callable[[], Result],
        instances: int,
        waited_us: Callable[[], int] = lambda: 0,
    ) -> tuple[Result, Subtask]:
        """COMP of so many instances: what `work` returns, and the time that it took.

        `waited_us`: how long data were waited for until now.
        """
        with admitted(self._gate, SubtaskKind.COMP, self.log, self._now_us):
            start_us, before_us = self._now_us(), waited_us()
            result = work()
            wait_us = waited_us() - before_us
            done = Subtask(SubtaskKind.COMP, self.step.clock, start_us, self._now_us(), wait_us)
        self.log.add(done)
        self.log.instances += instances
        return result, done

    def push(self, model: ModelPort, part: BatchKeys, update: Update | None) -> None:
        """Contribute to the mini-batch (None: nothing)."""
        self.contribute(lambda: model.push(part, update, self.step))

    def contribute(self, send: Callable[[], Transfer]) -> None:
        """PUSH by `send`."""
        with admitted(self._gate, SubtaskKind.PUSH, self.log, self._now_us) as yields:
            transfer = send()
        done = transfer.subtask(SubtaskKind.PUSH, self.step.clock)
        self.log.add_comm(done, yields=yields)
