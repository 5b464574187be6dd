"""A mini-batch that a worker computes alone."""

from __future__ import annotations

from contextlib import closing

from motet.domain.arrays import Array
from motet.domain.errors import JobFailed
from motet.runtime.core.application import Application, Step, Update
from motet.runtime.core.partial_updates import PartialUpdate, RunningSum, rows_at
from motet.runtime.worker.batch_subtasks import BatchSubtasks
from motet.runtime.worker.checked_compute import computed_update
from motet.runtime.worker.model_port import ModelPort
from motet.runtime.worker.runners.batch_runner import BatchRunner
from motet.runtime.worker.share import BatchPart, DataShare


class PlainBatchRunner(BatchRunner):
    """Runs one worker's mini-batches."""

    def __init__(self, app: Application, model: ModelPort) -> None:
        self._app = app
        self._model = model

    def run_batch(self, share: DataShare, number: int, subtasks: BatchSubtasks) -> None:
        """PULL, COMP and PUSH of the worker's part of mini-batch `number`.

        Without instances there is no COMP; PULL and PUSH keep the worker in step.
        """
        part = share.part(number)
        update = self._computed(part, subtasks)
        subtasks.push(self._model, part.keys, update)

    def _computed(self, part: BatchPart, subtasks: BatchSubtasks) -> Update | None:
        """PULL and COMP; keeps no reference to the pulled values, whose memory PUSH may free."""
        is_read = self._app.reads_model(subtasks.step)
        values, _ = subtasks.pull(self._model, part.keys, is_read)
        return computed_part(self._app, part, values, subtasks)


def computed_part(
    app: Application, part: BatchPart, values: Array, subtasks: BatchSubtasks
) -> Update | None:
    """COMP of a part; None: it has no instances."""
    if not part.instances:
        return None
    with subtasks.loaded(part):
        update, _ = subtasks.compute(
            lambda: computed(app, part, values, subtasks.step),
            part.instances,
            lambda: part.waited_us,
        )
    return update


def computed(app: Application, part: BatchPart, values: Array, step: Step) -> Update:
    """The update of a whole part, section by section; `values`: at the part's keys."""
    keys = part.keys.keys
    if part.is_whole:
        with closing(part.batches()) as batches:
            return computed_update(app, next(batches), values, step)
    total = RunningSum(keys, len(values))
    for batch in part.batches():
        some = rows_at(values, keys, batch.keys)
        if some is None:
            raise JobFailed(f"{app.name}: make_batch gave other keys for the same instances")
        total.add(PartialUpdate(batch.keys, computed_update(app, batch, some, step)))
    assert total.result is not None
    return total.result.update
