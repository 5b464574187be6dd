"""The controller's loop, its generation replaced: what it does with reports that come twice."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from motet.runtime.controller.checkpoint import Checkpoint
from motet.runtime.controller.event_inbox import Event, WorkerReport
from motet.runtime.controller.generation.epoch_loop import EpochLoop
from motet.runtime.controller.progress import Progress
from motet.runtime.core.application import Evaluation
from motet.runtime.core.observers import TrainObserver
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.rows import Rows
from motet.runtime.wire.codec import decode
from motet.runtime.wire.worker_reports import EpochAnswer, EpochDone

NO_ROWS = Rows(np.empty(0, np.int64), {})


class Answers:
    """A request that remembers its replies."""

    def __init__(self) -> None:
        self.directives: list[str] = []

    def reply(self, status: int, meta: bytes, buffers: object) -> None:
        del status, buffers
        self.directives.append(decode(EpochAnswer, meta).directive)


class FakeGeneration:
    number = 0
    batch_count = 1
    instance_count = 4

    def read_model(self, epoch_count: int) -> Any:
        del epoch_count
        return np.zeros(1)

    def read_state(self, epoch_count: int) -> Rows:
        del epoch_count
        return NO_ROWS

    def workers_of(self, epoch: int) -> tuple[int, ...]:
        del epoch
        return (0, 1)

    def is_expected(self, number: int, life: int) -> bool:
        del number, life
        return False

    def summarise(self, model: Any, sums: Any) -> Evaluation:
        del model
        return Evaluation(float(sums[0]))


def report(rank: int, epoch: int, value: float) -> tuple[WorkerReport, Answers]:
    answers = Answers()
    done = EpochDone(
        0, rank, epoch, 0, 1, 1, 0, 0, 0, sums=np.array([value]), batch_us=np.array([1.0])
    )
    return WorkerReport(done, cast(Any, answers)), answers


def test_a_report_that_is_sent_again_counts_once() -> None:
    first, lost = report(0, 0, 1.0)
    again, again_answers = report(0, 0, 1.0)
    other, other_answers = report(1, 0, 10.0)
    late, late_answers = report(1, 0, 10.0)
    last, _ = report(0, 1, 2.0)
    last_other, _ = report(1, 1, 20.0)
    progress = Progress(Checkpoint(0, np.zeros(1), NO_ROWS))
    options = TrainOptions(machines=2, workers=2, servers=1, epochs=2)
    events: list[Event] = [first, again, other, late, last, last_other]
    next_event = iter(events).__next__
    EpochLoop(FakeGeneration(), next_event, options, progress, None, TrainObserver()).run()
    assert [each.loss for each in progress.reports] == [11.0, 22.0]
    assert (lost.directives, again_answers.directives) == ([], ["continue"])
    assert (other_answers.directives, late_answers.directives) == (["continue"], ["continue"])
