"""Mini-batches of an asynchronous worker, whose COMM runs beside its COMP."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from typing import NamedTuple

from motet.domain.arrays import Array
from motet.runtime.core.application import Application, Step, Update
from motet.runtime.core.schedule import BatchKeys, Schedule
from motet.runtime.core.subtask import SubtaskLog
from motet.runtime.worker.batch_subtasks import BatchSubtasks
from motet.runtime.worker.model_port import ModelPort
from motet.runtime.worker.runners.batch_runner import BatchRunner
from motet.runtime.worker.runners.plain_batch_runner import computed_part
from motet.runtime.worker.runners.second_thread import SecondThread
from motet.runtime.worker.share import BatchPart, DataShare


class _Computed(NamedTuple):
    """A mini-batch without its PUSH."""

    keys: BatchKeys
    update: Update | None
    subtasks: BatchSubtasks


class _Following(NamedTuple):
    """A mini-batch that comes next, unless the share changes before."""

    part: BatchPart
    step: Step
    is_read: bool


class _Pulled(NamedTuple):
    """The values that `part` is computed from."""

    part: BatchPart
    values: Array


class PipelinedBatchRunner(BatchRunner):
    """Runs one worker's mini-batches with one of them computed and two communicated at a time.

    While mini-batch k is computed, a second thread pushes k - 1 and then pulls for k + 1. So an
    iteration takes as long as the longer one of COMP and COMM, and the values of k + 1 lack this
    worker's own update of k: SGD with a delay of one.

    Nothing runs between two calls of `run_batch`; what is left then is the PUSH of the last
    mini-batch, and the values of the next one. An epoch ends without either.

    The first epoch with a spilled share does not overlap: the keys of k + 1 are not known yet, and
    to find them its sections would be read before COMP of k, out of their order.
    """

    def __init__(self, app: Application, model: ModelPort, schedule: Schedule) -> None:
        """`model`: used by one thread at a time. Its values of a pull are not changed by the next
        pull, and its pulls wait for no other worker."""
        self._app = app
        self._model = model
        self._schedule = schedule
        self._order = lru_cache(maxsize=1)(schedule.order)
        self._thread = SecondThread("communication")
        self._unsent: _Computed | None = None
        self._ahead: _Pulled | None = None

    def run_batch(self, share: DataShare, number: int, subtasks: BatchSubtasks) -> None:
        """See BatchRunner."""
        part = share.part(number)
        values = self._values(part, subtasks)
        following = self._following(share, subtasks.step)
        log = SubtaskLog(comm_times=subtasks.log.comm_times)
        unsent, self._unsent = self._unsent, None
        communicate = partial(self._communicate, unsent, following, subtasks, log)
        with self._thread.running(communicate) as beside:
            update = computed_part(self._app, part, values, subtasks)
        del values  # PUSH may free their memory.
        self._ahead = beside.result()
        self._unsent = _Computed(part.keys, update, subtasks)
        subtasks.log.add_all(log)
        if following is None:
            self.flush()

    def flush(self) -> None:
        """See BatchRunner."""
        unsent, self._unsent = self._unsent, None
        if unsent is not None:
            unsent.subtasks.push(self._model, unsent.keys, unsent.update)

    def close(self) -> None:
        """See BatchRunner."""
        self._thread.close()

    def _values(self, part: BatchPart, subtasks: BatchSubtasks) -> Array:
        """Those that were pulled ahead, unless the worker has got another share since."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead.part is part:
            subtasks.begin()
            return ahead.values
        is_read = self._app.reads_model(subtasks.step)
        return subtasks.pull(self._model, part.keys, is_read)[0]

    def _following(self, share: DataShare, step: Step) -> _Following | None:
        """The mini-batch after `step`; None: nothing is pulled ahead for it, or the epoch ends."""
        position = step.batch + 1
        if position == step.batch_count:
            return None
        number = int(self._order(step.epoch)[position])
        part = share.part(number)
        if part.reads_for_keys:
            return None
        instances = self._schedule.batch_instances(number)
        following = replace(step, batch=position, clock=step.clock + 1, instances=instances)
        _ = part.keys  # Found here: the store of the share is not for several threads.
        return _Following(part, following, self._app.reads_model(following))

    def _communicate(
        self,
        unsent: _Computed | None,
        following: _Following | None,
        subtasks: BatchSubtasks,
        log: SubtaskLog,
    ) -> _Pulled | None:
        """On the second thread: PUSH of the mini-batch before, PULL for the one that follows."""
        if unsent is not None:
            before = subtasks.beside(unsent.subtasks.step, log)
            before.push(self._model, unsent.keys, unsent.update)
        if following is None:
            return None
        part, step, is_read = following
        after = subtasks.beside(step, log)
        return _Pulled(part, after.pull_at_once(self._model, part.keys, is_read)[0])
