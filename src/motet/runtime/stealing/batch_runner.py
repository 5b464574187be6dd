"""A mini-batch in which idle workers steal from late ones (`--stragglers help`).

A late worker computes its part unit by unit and lets others take units; an idle worker takes some.
A mini-batch without late workers is computed as a whole, and no message is sent.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from itertools import accumulate

from motet.domain.arrays import Array
from motet.domain.errors import JobFailed
from motet.runtime.core.application import Application, Batch, Step, Update
from motet.runtime.core.partial_updates import PartialUpdate, RunningSum, rows_at, together
from motet.runtime.core.subtask import SubtaskKind, Transfer, monotonic_us
from motet.runtime.stealing.model_port import StealingModel
from motet.runtime.stealing.stealing_gain import StealingGain
from motet.runtime.stealing.thief import PulledValues, StolenWork, Thief
from motet.runtime.stealing.victim import OfferedPart, Victim
from motet.runtime.worker.batch_subtasks import BatchSubtasks
from motet.runtime.worker.checked_compute import computed_update
from motet.runtime.worker.runners.batch_runner import BatchRunner
from motet.runtime.worker.runners.plain_batch_runner import computed
from motet.runtime.worker.share import BatchPart, DataShare

# A unit takes at least this long, if the data blocks allow it.
_UNIT_US = 2_000
_MEMORY = 0.5
_RECENT_COUNT = 8
_LEAST_RATED_BYTES = 16 << 10


class StealingBatchRunner(BatchRunner):
    """Runs one worker's mini-batches; it can be the victim and a thief in the same one."""

    def __init__(
        self,
        app: Application,
        model: StealingModel,
        victim: Victim,
        thief: Thief,
        workers: Callable[[], Sequence[int]],
    ) -> None:
        """`workers`: the workers of the present mini-batch."""
        self._app = app
        self._model = model
        self._victim = victim
        self._thief = thief
        self._workers = workers
        self._own_us = 0.0
        self._work_us = 0
        self._link = LinkRate()
        self._gain = StealingGain()

    def run_batch(self, share: DataShare, number: int, subtasks: BatchSubtasks) -> None:
        """PULL, COMP and PUSH; afterwards the state of stolen instances is back."""
        part, before_us = share.part(number), sum(subtasks.log.busy_us.values())
        sizes = self._open(part, subtasks.step)
        is_read = self._app.reads_model(subtasks.step)
        values, transfer = subtasks.pull(self._model, part.keys, is_read)
        self._link.add(transfer)
        self._thief.note_wait(self._model.take_wait_us(), self._work_us)
        pulled, began_us = PulledValues(part.keys.keys, values), monotonic_us()
        self._thief.request_early(
            self._workers(), subtasks.step, self._own_us, self._own_us * part.instances
        )
        own = self._compute_own(part, sizes, pulled, subtasks)
        self._victim.finish_own()
        took_us = monotonic_us() - began_us
        stolen = self._thief.steal(self._workers(), pulled, self._own_us, subtasks)
        self._push(part, own, stolen, subtasks)
        stolen.await_returns()
        took_us += self._await_states()
        self._add_gain(part.instances, took_us, is_split=bool(sizes))
        self._work_us = sum(subtasks.log.busy_us.values()) - before_us

    def _open(self, part: BatchPart, step: Step) -> list[int]:
        """Offer the mini-batch to thieves; the instances of its units, none if it is whole."""
        accepts = self._gain.may_split and self._own_us > 0
        is_split = accepts and self._victim.is_wanted and part.instances > 0
        sizes = _joined(part.sizes, _UNIT_US / self._own_us) if is_split else []
        crowd = len(self._workers()) - 1
        offered = OfferedPart(step.clock, part.rows, sizes, accepts)
        self._victim.open(offered, self._own_us, crowd, self._link.rate)
        return sizes

    def _compute_own(
        self,
        part: BatchPart,
        sizes: Sequence[int],
        pulled: PulledValues,
        subtasks: BatchSubtasks,
    ) -> PartialUpdate | None:
        """Compute the whole part, or the units that no thief takes; None: nothing."""
        if not part.instances:
            return None
        step = subtasks.step
        if not sizes:
            update = self._timed(
                lambda: computed(self._app, part, pulled.values, step), part.instances, subtasks
            )
            return PartialUpdate(pulled.keys, update)
        ends = [0, *accumulate(sizes)]
        total = RunningSum(pulled.keys, self._model.key_count)
        while (units := self._victim.next_own()) is not None:
            for piece in part.pieces(ends[units.start], ends[units.stop]):
                total.add(self._computed_piece(piece, pulled, subtasks))
        return total.result

    def _values_of(self, piece: Batch, pulled: PulledValues) -> Array:
        values = rows_at(pulled.values, pulled.keys, piece.keys)
        if values is None:
            raise JobFailed(
                f"{self._app.name}: a part of a mini-batch needs keys that the whole does not; "
                "train with --stragglers ignore"
            )
        return values

    def _computed_piece(
        self, piece: Batch, pulled: PulledValues, subtasks: BatchSubtasks
    ) -> PartialUpdate:
        values, step = self._values_of(piece, pulled), subtasks.step
        update = self._timed(
            lambda: computed_update(self._app, piece, values, step), len(piece.rows), subtasks
        )
        return PartialUpdate(piece.keys, update)

    def _timed(self, work: Callable[[], Update], instances: int, subtasks: BatchSubtasks) -> Update:
        """Compute; the time per instance enters the average."""
        update, took = subtasks.compute(work, instances)
        each_us = took.busy_us / instances
        self._own_us = _MEMORY * (self._own_us or each_us) + (1 - _MEMORY) * each_us
        return update

    def _push(
        self,
        part: BatchPart,
        own: PartialUpdate | None,
        stolen: StolenWork,
        subtasks: BatchSubtasks,
    ) -> None:
        """Contribute what this worker computed, of its own part and of others'."""
        mine = [] if own is None else [own]
        sums = together([*mine, *stolen.parts], self._model.key_count)
        if sums is own and own is not None:
            subtasks.push(self._model, part.keys, own.update)
        else:
            step, instances = subtasks.step, part.instances
            subtasks.contribute(lambda: self._model.push_at(sums, instances, step))

    def _await_states(self) -> int:
        """Wait for the state of instances that thieves computed; the microseconds waited."""
        began_us = monotonic_us()
        self._victim.await_states(bool(self._app.state_columns))
        return monotonic_us() - began_us

    def _add_gain(self, instances: int, took_us: int, *, is_split: bool) -> None:
        if not instances:
            return
        if is_split:
            self._gain.add_split(took_us / instances)
        else:
            self._gain.add_whole(took_us / instances)


class LinkRate:
    """The best recent rate between this worker and the servers, in bytes per microsecond.

    Short transfers are not measured.
    """

    def __init__(self) -> None:
        self._rates: deque[float] = deque(maxlen=_RECENT_COUNT)

    def add(self, transfer: Transfer) -> None:
        """A PULL that has just ended."""
        busy_us = transfer.subtask(SubtaskKind.PULL, 0).busy_us
        if transfer.payload_bytes >= _LEAST_RATED_BYTES:
            self._rates.append(transfer.payload_bytes / max(busy_us, 1))

    @property
    def rate(self) -> float:
        """Infinite before the first measurement."""
        return max(self._rates, default=math.inf)


def _joined(sizes: Sequence[int], least: float) -> list[int]:
    """Adjacent units joined until each has at least so many instances."""
    joined: list[int] = []
    for size in sizes:
        if joined and joined[-1] < least:
            joined[-1] += size
        else:
            joined.append(size)
    return joined
