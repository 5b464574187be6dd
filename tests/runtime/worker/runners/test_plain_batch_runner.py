"""PULL, COMP and PUSH of a mini-batch pass the gate once each, in this order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from motet.domain.errors import JobFailed
from motet.runtime.core.application import Batch, Step, Update
from motet.runtime.core.schedule import Schedule, deal_blocks
from motet.runtime.core.subtask import SubtaskKind, SubtaskLog
from motet.runtime.worker.batch_subtasks import BatchSubtasks
from motet.runtime.worker.local_training import LocalTraining
from motet.runtime.worker.runners.plain_batch_runner import PlainBatchRunner
from motet.runtime.worker.share import DataShare
from motet.runtime.worker.subtask_gate import OPEN_GATE
from recorded_subtasks import RecordedModel, bracketed, step_of, subtasks_of
from toy_app import ToyRegression

WHOLE_BATCH = [
    "await start",
    "begin",
    *bracketed("pull", "pull"),
    *bracketed("comp", "compute"),
    *bracketed("push", "push"),
]


class Recorded(ToyRegression):
    """Writes down every computation; raises in mini-batch `fail_at_clock`."""

    events: list[str]

    def compute(self, batch: Batch, model: Any, step: Step) -> Update:
        self.events.append("compute")
        return super().compute(batch, model, step)


class OneWorker:
    """A worker with all data blocks, or none."""

    def __init__(
        self, fail_at_clock: int = -1, has_data: bool = True, section_bytes: int = 1 << 30
    ) -> None:
        self.events: list[str] = []
        self.app = Recorded(batch_size=100, fail_at_clock=fail_at_clock)
        self.app.events = self.events
        rows = self.app.prepare(None, seed=1)
        self.schedule = Schedule.of(len(rows), 100, 8, seed=0)
        blocks = deal_blocks(rows, self.schedule) if has_data else {}
        self.share = DataShare(self.app, self.schedule, blocks, section_bytes=section_bytes)
        self.model = RecordedModel(self.app, np.zeros((40, 1)), self.events)
        self.runner = PlainBatchRunner(self.app, self.model)

    def step(self, clock: int) -> Step:
        instances = self.schedule.batch_instances(clock)
        return step_of(clock, instances, self.schedule.instance_count)

    def run(self, clock: int) -> SubtaskLog:
        subtasks = subtasks_of(self.step(clock), self.events)
        self.runner.run_batch(self.share, clock, subtasks)
        return subtasks.log


def test_each_subtask_is_bracketed_once_and_in_order() -> None:
    worker = OneWorker()
    log = worker.run(0)
    assert worker.events == WHOLE_BATCH
    assert log.instances == worker.schedule.batch_instances(0)


def test_a_part_in_several_sections_is_one_comp() -> None:
    divided, whole = OneWorker(section_bytes=1), OneWorker()
    divided.run(0)
    whole.run(0)
    count = divided.events.count("compute")
    assert count > 1
    assert divided.events == [
        "await start",
        "begin",
        *bracketed("pull", "pull"),
        *bracketed("comp", *["compute"] * count),
        *bracketed("push", "push"),
    ]
    (got, got_instances), (expected, instances) = *divided.model.pushed, *whole.model.pushed
    assert got is not None
    assert expected is not None
    np.testing.assert_allclose(got.update.delta, expected.update.delta, rtol=1e-12)
    assert (got.update.statistics, got_instances) == (expected.update.statistics, instances)


def test_a_worker_without_instances_has_no_comp_but_keeps_step() -> None:
    worker = OneWorker(has_data=False)
    log = worker.run(0)
    assert worker.events == [
        "await start",
        "begin",
        *bracketed("pull", "pull"),
        *bracketed("push", "push"),
    ]
    assert worker.model.pushed == [(None, 0)]
    assert log.instances == 0


def test_a_subtask_that_raises_leaves_the_gate_and_is_not_logged() -> None:
    worker = OneWorker(fail_at_clock=1)
    subtasks = subtasks_of(worker.step(1), worker.events)
    with pytest.raises(ZeroDivisionError):
        worker.runner.run_batch(worker.share, 1, subtasks)
    assert worker.events == WHOLE_BATCH[: WHOLE_BATCH.index("leave comp") + 1]
    assert subtasks.log.busy_us[SubtaskKind.COMP] == 0, "20 ms were not logged"
    assert subtasks.log.instances == 0


def test_waiting_for_the_start_counts_as_waiting_and_not_as_communication() -> None:
    log = OneWorker().run(0)
    assert (log.wait_us, log.busy_us[SubtaskKind.PULL]) == (5, 0)


def test_with_an_open_gate_nothing_waits_for_the_start() -> None:
    worker = OneWorker()
    subtasks = BatchSubtasks(worker.step(0), SubtaskLog(), OPEN_GATE)
    worker.runner.run_batch(worker.share, 0, subtasks)
    assert worker.events == ["pull", "compute", "push"]


class Blind(Recorded):
    """Reads no values in the first mini-batch."""

    def reads_model(self, step: Step) -> bool:
        return step.clock > 0

    def compute(self, batch: Batch, model: Any, step: Step) -> Update:
        self.events.append(f"{model.shape} {model.strides} {model.sum():.0f}")
        return super().compute(batch, model, step)


def test_values_that_are_not_read_are_not_pulled() -> None:
    worker = OneWorker()
    worker.app.__class__ = Blind
    worker.model.values[:] = 1
    for clock in (0, 1):
        worker.run(clock)
    pulls = [event for event in worker.events if event[0] == "(" or event == "pull"]
    assert pulls == ["(40, 1) (0, 0) 0", "pull", "(40, 1) (8, 8) 40"]


class Returning(ToyRegression):
    """Returns what the test says instead of an update."""

    returned: Any

    def compute(self, batch: Batch, model: Any, step: Step) -> Any:
        return self.returned


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        (np.zeros((40, 1)), "returned ndarray; return Update"),
        (None, "returned NoneType; return Update"),
        (Update(np.zeros((39, 1))), r"returned a delta of shape \(39, 1\); it must be \(40, 1\)"),
        (Update(np.zeros(40)), r"returned a delta of shape \(40,\); it must be \(40, 1\)"),
    ],
)
def test_what_is_no_update_of_the_pulled_keys_is_refused(returned: Any, problem: str) -> None:
    app = Returning(batch_size=100)
    app.returned = returned
    training = LocalTraining(app, app.prepare(None, seed=1), seed=0)
    with pytest.raises(JobFailed, match=rf"test_plain_batch_runner.py:\d+ in compute: {problem}"):
        next(training.epochs(1))
