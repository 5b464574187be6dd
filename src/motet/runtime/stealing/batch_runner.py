"""A mini-batch in which idle workers help late ones (`--stragglers help`).

A late worker computes its part unit by unit and lets others take units; an idle one takes some. In
a mini-batch where nobody is late, all is computed as without help, and no message is sent.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from itertools import accumulate

from motet.domain.arrays import Array
from motet.domain.errors import JobFailed
from motet.runtime.client.partial_updates import PartialUpdate, RunningSum, rows_at, together
from motet.runtime.client.remote_model import RemoteModel
from motet.runtime.core.application import Application, Batch, Step
from motet.runtime.core.subtask import Subtask, SubtaskKind, SubtaskLog, monotonic_us
from motet.runtime.core.transfer import Transfer
from motet.runtime.stealing.stealing_gain import Benefit
from motet.runtime.stealing.thief import Haul, Helper, Pulled
from motet.runtime.stealing.victim import Handout, Part
from motet.runtime.worker.share import Share

# A unit takes at least this long, if the data blocks allow it.
_UNIT_US = 2_000
_MEMORY = 0.5
_LATELY = 8
_TELLING_BYTES = 16 << 10


class Teamwork:
    """Runs one worker's mini-batches."""

    def __init__(
        self,
        app: Application,
        model: RemoteModel,
        handout: Handout,
        helper: Helper,
        workers: Callable[[], Sequence[int]],
    ) -> None:
        """`workers`: who computes the present mini-batch."""
        self._app = app
        self._model = model
        self._handout = handout
        self._helper = helper
        self._workers = workers
        self._own_us = 0.0
        self._work_us = 0
        self._link = LinkRate()
        self._benefit = Benefit()

    def run_batch(self, share: Share, number: int, step: Step, log: SubtaskLog) -> None:
        """PULL, COMP and PUSH; then the state of instances that others computed is back."""
        batch, before_us = share.batch(number), sum(log.busy_us.values())
        sizes = self._open(share, number, batch, step)
        values, transfer = self._model.pull(batch, step)
        log.add(transfer.subtask(SubtaskKind.PULL, step.clock))
        self._link.add(transfer)
        self._helper.waited(self._model.take_wait_us(), self._work_us)
        pulled, began_us = Pulled(batch.keys, values), monotonic_us()
        self._helper.prepare(self._workers(), step, self._own_us, len(batch.rows))
        own = self._own(share, number, sizes, pulled, step, log)
        self._handout.finish_own()
        took_us = monotonic_us() - began_us
        haul = self._helper.help(self._workers(), pulled, step, self._own_us, log)
        self._push(batch, own, haul, step, log)
        haul.finish()
        took_us += self._settle()
        self._judge(len(batch.rows), took_us, is_divided=bool(sizes))
        self._work_us = sum(log.busy_us.values()) - before_us

    def _settle(self) -> int:
        """Wait for the state of what others computed; how long that was."""
        began_us = monotonic_us()
        self._handout.settle(bool(self._app.state_columns))
        return monotonic_us() - began_us

    def _judge(self, instances: int, took_us: int, *, is_divided: bool) -> None:
        if not instances:
            return
        if is_divided:
            self._benefit.helped(took_us / instances)
        else:
            self._benefit.alone(took_us / instances)

    def _open(self, share: Share, number: int, batch: Batch, step: Step) -> list[int]:
        """Let others know of the mini-batch; the instances of its units, none if it is whole."""
        accepts = self._benefit.may_divide and self._own_us > 0
        is_divided = accepts and self._handout.is_wanted and len(batch.rows) > 0
        sizes = _joined(share.sizes(number), _UNIT_US / self._own_us) if is_divided else []
        crowd = len(self._workers()) - 1
        self._handout.open(
            Part(step.clock, batch.rows, sizes, accepts), self._own_us, crowd, self._link.rate
        )
        return sizes

    def _own(
        self,
        share: Share,
        number: int,
        sizes: Sequence[int],
        pulled: Pulled,
        step: Step,
        log: SubtaskLog,
    ) -> PartialUpdate | None:
        """Compute all of a whole part, or the units that nobody else takes; None: nothing."""
        if not sizes:
            batch = share.batch(number)
            return self._compute(batch, pulled.values, step, log) if len(batch.rows) else None
        ends = [0, *accumulate(sizes)]
        total = RunningSum(pulled.keys, self._model.key_count)
        while (units := self._handout.next_own()) is not None:
            piece = share.piece(number, ends[units.start], ends[units.stop])
            values = rows_at(pulled.values, pulled.keys, piece.keys)
            if values is None:
                raise JobFailed(
                    f"{self._app.name}: a part of a mini-batch needs keys that the whole does not; "
                    "train with --stragglers ignore"
                )
            total.add(self._compute(piece, values, step, log))
        return total.result

    def _compute(self, batch: Batch, values: Array, step: Step, log: SubtaskLog) -> PartialUpdate:
        start_us = monotonic_us()
        update = self._app.compute(batch, values, step)
        took = Subtask(SubtaskKind.COMP, step.clock, start_us, monotonic_us())
        log.add(took)
        log.instances += len(batch.rows)
        each_us = took.busy_us / len(batch.rows)
        self._own_us = _MEMORY * (self._own_us or each_us) + (1 - _MEMORY) * each_us
        return PartialUpdate(batch.keys, update)

    def _push(
        self, batch: Batch, own: PartialUpdate | None, haul: Haul, step: Step, log: SubtaskLog
    ) -> None:
        """Contribute what this worker computed, for itself and for others."""
        log.instances += haul.instances
        mine = [] if own is None else [own]
        sums = together([*mine, *haul.parts], self._model.key_count)
        if sums is own and own is not None:
            pushed = self._model.push(batch, own.update, step)
        else:
            pushed = self._model.push_at(sums, len(batch.rows), step)
        log.add(pushed.subtask(SubtaskKind.PUSH, step.clock))


class LinkRate:
    """The best that lately was reached between this worker and the servers, bytes per microsecond.

    Short transfers say nothing about it.
    """

    def __init__(self) -> None:
        self._rates: deque[float] = deque(maxlen=_LATELY)

    def add(self, transfer: Transfer) -> None:
        """A PULL that has just ended."""
        busy_us = transfer.subtask(SubtaskKind.PULL, 0).busy_us
        if transfer.payload_bytes >= _TELLING_BYTES:
            self._rates.append(transfer.payload_bytes / max(busy_us, 1))

    @property
    def rate(self) -> float:
        """Infinite as long as nothing is known."""
        return max(self._rates, default=math.inf)


def _joined(sizes: Sequence[int], least: float) -> list[int]:
    """Neighbouring units together, until each has at least so many instances."""
    joined: list[int] = []
    for size in sizes:
        if joined and joined[-1] < least:
            joined[-1] += size
        else:
            joined.append(size)
    return joined
