"""The evaluation after an epoch: subtasks that take turns with those of other jobs."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
import pytest

from motet.domain.arrays import Array
from motet.runtime.core.rows import Rows
from motet.runtime.core.schedule import Schedule, deal_blocks
from motet.runtime.core.subtask import SubtaskKind, SubtaskLog
from motet.runtime.worker.runners.plain_batch_runner import PlainBatchRunner
from motet.runtime.worker.share import DataShare
from motet.runtime.worker.subtask_gate import OPEN_GATE, SubtaskGate
from motet.runtime.worker.worker import Worker
from recorded_subtasks import RecordedModel, RecordingGate, bracketed
from toy_app import ToyRegression


class Evaluated(ToyRegression):
    """Writes down every evaluation of a section."""

    events: list[str]

    def evaluate(self, rows: Rows, model: Any) -> Array:
        self.events.append("evaluate")
        return super().evaluate(rows, model)


class Model(RecordedModel):
    """Writes down how the whole model is read."""

    def await_finished(self) -> None:
        self._events.append("await finished")

    def pull_all(self) -> Array:
        self._events.append("pull all")
        return super().pull_all()


def evaluated(events: list[str], gate: SubtaskGate, blocks: int = 8) -> tuple[Array, SubtaskLog]:
    """Of a worker with all data in several sections (0 blocks: with none); each look at the clock
    is 10 us after the one before."""
    app = Evaluated(batch_size=100)
    app.events = events
    rows = app.prepare(None, seed=1)
    schedule = Schedule.of(len(rows), 100, 8, seed=0)
    held = deal_blocks(rows, schedule) if blocks else {}
    share = DataShare(app, schedule, held, section_bytes=20_000)
    model = Model(app, np.zeros((40, 1)), events)
    runner, now_us = PlainBatchRunner(app, model), count(0, 10).__next__
    worker = Worker(app, schedule, lambda clock: share, model, runner, now_us, gate=gate)
    log = SubtaskLog()
    return worker.evaluate(share, log), log


def test_an_evaluation_is_a_pull_and_a_comp_for_each_section() -> None:
    """Other workers are waited for outside of the gate."""
    events: list[str] = []
    _, log = evaluated(events, RecordingGate(events))
    sections = events.count("evaluate")
    assert sections > 1
    assert events == [
        "await finished",
        "begin",
        *bracketed("pull", "pull all"),
        *bracketed("comp", "evaluate") * sections,
    ]
    assert log.evaluation_busy_us[SubtaskKind.PULL] == 10
    assert log.evaluation_busy_us[SubtaskKind.COMP] == 10 * sections
    assert log.evaluation_us > 10 + 10 * sections


def test_with_an_open_gate_an_evaluation_waits_for_nothing() -> None:
    events: list[str] = []
    evaluated(events, OPEN_GATE)
    assert events == ["pull all", *["evaluate"] * (len(events) - 1)]


def test_the_sums_do_not_depend_on_the_gate() -> None:
    gated, _ = evaluated([], RecordingGate([]))
    free, _ = evaluated([], OPEN_GATE)
    np.testing.assert_array_equal(gated, free)


@pytest.mark.parametrize("is_free", [False, True])
def test_a_worker_without_instances_asks_for_nothing(is_free: bool) -> None:
    events: list[str] = []
    sums, log = evaluated(events, OPEN_GATE if is_free else RecordingGate(events), blocks=0)
    assert (len(sums), events, log.evaluation_us) == (0, [], 0)
