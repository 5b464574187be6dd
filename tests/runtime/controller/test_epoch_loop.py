"""The controller's loop, its generation replaced: what it does with reports that come twice."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from motet.runtime.controller.checkpoint import Checkpoint
from motet.runtime.controller.epoch_loop import EpochLoop, Progress
from motet.runtime.controller.event_inbox import Event, WorkerReport
from motet.runtime.core.application import Evaluation
from motet.runtime.core.observers import TrainObserver
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.rows import Rows

NO_ROWS = Rows(np.empty(0, np.int64), {})


class Answers:
    """A request that remembers its replies."""

    def __init__(self) -> None:
        self.replies: list[bytes] = []

    def reply(self, status: int, meta: bytes) -> None:
        del status
        self.replies.append(meta)


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

    def workers_at(self, clock: int) -> tuple[int, ...]:
        del clock
        return (0, 1)

    def summarise(self, model: Any, sums: Any) -> Evaluation:
        del model
        return Evaluation(float(sums[0]))


class Events:
    """A controller with nothing but a list of events."""

    def __init__(self, events: list[Event]) -> None:
        self.events = self
        self._list = events

    def get(self) -> Event:
        return self._list.pop(0)


def report(rank: int, epoch: int, value: float) -> tuple[WorkerReport, Answers]:
    answers = Answers()
    made = WorkerReport(
        0, rank, epoch, 1, 1, 0, 0, 0, np.array([value]), np.array([1.0]), cast(Any, answers)
    )
    return made, answers


def test_a_report_that_is_sent_again_counts_once() -> None:
    first, lost = report(0, 0, 1.0)
    again, again_answers = report(0, 0, 1.0)
    other, other_answers = report(1, 0, 10.0)
    late, late_answers = report(1, 0, 10.0)
    last, _ = report(0, 1, 2.0)
    last_other, _ = report(1, 1, 20.0)
    progress = Progress(Checkpoint(0, np.zeros(1), NO_ROWS))
    options = TrainOptions(machines=2, workers=2, servers=1, epochs=2)
    events = [first, again, other, late, last, last_other]
    EpochLoop(
        cast(Any, FakeGeneration()), cast(Any, Events(list(events))), options, progress, None,
        TrainObserver(),
    ).run()  # fmt: skip
    assert [each.loss for each in progress.reports] == [11.0, 22.0]
    assert (lost.replies, again_answers.replies) == ([], [b'"continue"'])
    assert (other_answers.replies, late_answers.replies) == ([b'"continue"'], [b'"continue"'])
