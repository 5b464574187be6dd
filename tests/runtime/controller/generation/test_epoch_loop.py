"""Events in, answers and checkpoints out: the loop over epochs, on a generation of fixed values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from motet.domain.arrays import Array
from motet.domain.errors import Interrupted, JobFailed
from motet.runtime.controller.checkpoints.checkpoint import Checkpoint
from motet.runtime.controller.checkpoints.folder import CheckpointFolder
from motet.runtime.controller.checkpoints.identity import JobIdentity
from motet.runtime.controller.event_inbox import (
    BatchProgress,
    CancelRequested,
    ControllerEvent,
    ExecutorEnded,
    ObserverFailed,
    SuspensionRequested,
    WorkerPaused,
    WorkerReport,
)
from motet.runtime.controller.generation.epoch_loop import EpochLoop, GenerationLost
from motet.runtime.controller.progress import Progress
from motet.runtime.core.application import Evaluation, ModelTable
from motet.runtime.core.consistency import Async
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.batch_costs import BatchCost
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport
from motet.runtime.core.rows import Rows
from motet.runtime.wire.assignment import CONTROLLER, RunOutcome
from motet.runtime.wire.control_messages import SpillUse
from worker_reports import report

NO_ROWS = Rows(np.empty(0, np.int64), {})
TWO_INSTANCES = Rows(np.arange(2), {})


class FixedValues:
    """Two workers; the model after n epochs is n, loss and residual are the workers' sum."""

    number = 0
    batch_count = 3
    instance_count = 4

    def workers_of(self, epoch: int) -> tuple[int, ...]:
        del epoch
        return (0, 1)

    def is_expected(self, number: int, life: int) -> bool:
        return (number, life) == (1, 0)

    def summarise(self, model: Array, sums: Array, earlier: Sequence[EpochReport]) -> Evaluation:
        del model, earlier
        return Evaluation(float(sums[0]), residual=float(sums[0]))

    def workers_before(self, clock: int) -> tuple[int, ...]:
        del clock
        return (0, 1)

    def review_spill(self) -> Sequence[SpillUse]:
        return ()

    def read_model(self, clock: int) -> Array:
        return np.array([clock / self.batch_count])

    def read_state(self, clock: int) -> Rows:
        del clock
        return TWO_INSTANCES


class Memory(TrainObserver):
    """Remembers what it was told, in order."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def batch_done(self, epoch: int, batch: int, batch_count: int) -> None:
        self.heard.append(("batch", epoch, batch, batch_count))

    def measured(self, executor: int, costs: Sequence[BatchCost]) -> None:
        self.heard.append(("measured", executor, len(costs)))

    def epoch_done(self, report: EpochReport) -> None:
        self.heard.append(("epoch", report.epoch_index, report.loss))


def run(
    events: Sequence[ControllerEvent],
    progress: Progress | None = None,
    folder: CheckpointFolder | None = None,
    observer: TrainObserver | None = None,
    epochs_done: list[int] | None = None,
    pause: Callable[[], None] = lambda: None,
    **options: Any,
) -> Checkpoint:
    fields = {"machines": 2, "workers": 2, "servers": 1, "epochs": 2, **options}
    return EpochLoop(
        FixedValues(),
        iter(events).__next__,
        TrainOptions(**fields),
        progress or Progress(Checkpoint(0, np.zeros(1), NO_ROWS)),
        folder,
        observer or TrainObserver(),
        (epochs_done if epochs_done is not None else []).append,
        pause,
    ).run()


def epoch(number: int) -> list[WorkerReport]:
    return [report(0, number, 1.0)[0], report(1, number, 10.0)[0]]


def test_a_report_that_is_sent_again_counts_once() -> None:
    first, lost = report(0, 0, 1.0)
    again, again_answers = report(0, 0, 1.0)
    other, other_answers = report(1, 0, 10.0)
    late, late_answers = report(1, 0, 10.0)
    last, last_answers = report(0, 1, 2.0)
    last_other, _ = report(1, 1, 20.0)
    progress = Progress(Checkpoint(0, np.zeros(1), NO_ROWS))
    run([first, again, other, late, last, last_other], progress)
    assert progress.losses == [11.0, 22.0]
    assert (lost.directives, again_answers.directives) == ([], ["continue"])
    assert (other_answers.directives, late_answers.directives) == (["continue"], ["continue"])
    assert last_answers.directives == ["stop"]


def test_the_final_state_is_the_model_and_the_state_after_the_last_epoch() -> None:
    final = run([*epoch(0), *epoch(1)])
    assert (final.epoch_count, final.model.tolist()) == (2, [2.0])
    assert final.state.ids.tolist() == [0, 1]
    assert [each.loss for each in final.reports] == [11.0, 11.0]


def test_a_checkpoint_is_written_before_the_workers_are_answered(tmp_path: Path) -> None:
    model = ModelTable(1, (), np.dtype(np.float64))
    folder = CheckpointFolder(
        tmp_path, JobIdentity({"instances": 2, "data": "d"}, model, lambda: TWO_INSTANCES)
    )
    found: list[int | None] = []

    class Look:
        def reply(self, *arguments: object) -> None:
            written = folder.latest()
            found.append(None if written is None else written.epoch_count)

    events = [replace(each, request=Look()) for n in range(4) for each in epoch(n)]  # type: ignore[arg-type]
    run(events, folder=folder, epochs=4, checkpoint_every=2)
    assert found == [None, None, 2, 2, 2, 2, 4, 4]


def test_plans_of_an_epoch_are_released_before_its_workers_are_answered() -> None:
    released: list[int] = []
    released_when_answered: list[list[int]] = []

    class Look:
        def reply(self, *arguments: object) -> None:
            released_when_answered.append(released[:])

    events = [replace(each, request=Look()) for n in range(2) for each in epoch(n)]  # type: ignore[arg-type]
    run(events, epochs_done=released)
    assert released_when_answered == [[1], [1], [1], [1]]


def test_the_observer_hears_of_mini_batches_from_the_leading_worker() -> None:
    cost = BatchCost(1.0, 1.0, 1.0, 1, 1, 1)
    events = [
        BatchProgress(0, 0, 0, 1, True, (cost,)),
        BatchProgress(0, 1, 0, 1, False, (cost, cost)),
        *epoch(0),
    ]
    memory = Memory()
    run(events, observer=memory, epochs=1)
    assert memory.heard == [
        ("measured", 0, 1), ("batch", 0, 1, 3), ("measured", 1, 2), ("epoch", 0, 11.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("event", "error", "message"),
    [
        (ExecutorEnded(0, 3, 0, None), GenerationLost, "executor 3 died"),
        (
            ExecutorEnded(0, 3, 0, RunOutcome("aborted", "its peer is gone")),
            GenerationLost,
            "executor 3 was cut off: its peer is gone",
        ),
        (
            ExecutorEnded(0, CONTROLLER, 0, RunOutcome("aborted", "a reconfiguration was cut off")),
            GenerationLost,
            "^a reconfiguration was cut off",
        ),
        (ExecutorEnded(0, 3, 0, RunOutcome("failed", "a bug")), JobFailed, "executor 3: a bug"),
        (ExecutorEnded(0, 1, 1, None), GenerationLost, "executor 1 died"),
        (CancelRequested(), Interrupted, "the job was cancelled"),
        (ObserverFailed(KeyError("the observer's")), KeyError, "the observer's"),
    ],
)
def test_what_ends_a_generation_early(
    event: ControllerEvent, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        run([event])


@pytest.mark.parametrize(
    "event",
    [
        ExecutorEnded(0, 1, 0, None),
        ExecutorEnded(0, 3, 0, RunOutcome("finished")),
        ExecutorEnded(1, 3, 0, None),
        BatchProgress(1, 0, 0, 1, True, ()),
    ],
    ids=["dismissed", "finished", "of another generation", "progress of another generation"],
)
def test_what_does_not_end_it(event: ControllerEvent) -> None:
    memory = Memory()
    run([event, *epoch(0)], observer=memory, epochs=1)
    assert memory.heard == [("epoch", 0, 11.0)]


def test_training_ends_once_it_has_converged() -> None:
    progress = Progress(Checkpoint(0, np.zeros(1), NO_ROWS))
    final = run([*epoch(0), *epoch(1)], progress, epochs=9, tol=11.0)
    assert (final.epoch_count, progress.losses) == (1, [11.0])
    going_on = Progress(Checkpoint(0, np.zeros(1), NO_ROWS))
    assert run([*epoch(0), *epoch(1)], going_on, epochs=2, tol=10.9).epoch_count == 2


def test_without_lockstep_it_ends_where_all_workers_wait() -> None:
    progress = Progress(Checkpoint(0, np.zeros(1), NO_ROWS))
    events = [event for number in range(4) for event in epoch(number)]
    final = run(events, progress, epochs=9, tol=11.0, consistency=Async(), checkpoint_every=3)
    assert final.epoch_count == 3


def test_a_suspended_job_ends_after_its_epoch_with_a_checkpoint() -> None:
    progress = Progress(Checkpoint(0, np.zeros(1), NO_ROWS))
    first, second = epoch(1)
    with pytest.raises(Interrupted, match="stopped after 2 epochs"):
        run([*epoch(0), first, SuspensionRequested(), second, *epoch(2)], progress, epochs=9)
    assert (progress.checkpoint.epoch_count, progress.losses) == (2, [11.0, 11.0])


def test_a_suspended_job_ends_where_all_workers_have_paused() -> None:
    progress = Progress(Checkpoint(0, np.zeros(1), NO_ROWS))
    pauses: list[str] = []
    suspended = [SuspensionRequested(), SuspensionRequested()]
    paused = [WorkerPaused(0, 0, 5), WorkerPaused(0, 1, 5)]
    with pytest.raises(Interrupted, match="after 1 epoch and 2 of 3 mini-batches"):
        run(
            [*epoch(0), *suspended, *paused, *epoch(1)],
            progress,
            pause=lambda: pauses.append("pause"),
        )
    found = progress.checkpoint.read()
    assert (found.epoch_count, found.batches, found.model.tolist()) == (1, 2, [5 / 3])
    assert (pauses, progress.losses) == (["pause"], [11.0])


def test_without_lockstep_workers_that_are_behind_first_reach_the_pause() -> None:
    """Worker 0 stands at mini-batch 5 of 3 each, while worker 1 ends the first epoch."""
    progress = Progress(Checkpoint(0, np.zeros(1), NO_ROWS))
    first, second = epoch(0)
    events = [first, SuspensionRequested(), WorkerPaused(0, 0, 5), second, WorkerPaused(0, 1, 5)]
    with pytest.raises(Interrupted, match="after 1 epoch and 2 of 3 mini-batches"):
        run(events, progress, consistency=Async(), epochs=9)
    assert progress.losses == [11.0]


def test_a_suspension_during_the_last_epoch_does_not_prevent_the_end() -> None:
    assert run([SuspensionRequested(), *epoch(0)], epochs=1).epoch_count == 1


def test_a_suspension_ends_at_an_epoch_at_which_all_workers_wait_if_that_comes_first() -> None:
    progress = Progress(Checkpoint(0, np.zeros(1), NO_ROWS))
    events = [SuspensionRequested(), *(each for number in range(4) for each in epoch(number))]
    pauses: list[str] = []
    with pytest.raises(Interrupted, match="after 3 epochs"):
        run(
            events,
            progress,
            epochs=9,
            consistency=Async(),
            checkpoint_every=3,
            pause=lambda: pauses.append("pause"),
        )
    assert (progress.checkpoint.epoch_count, pauses) == (3, ["pause"])


def test_only_the_final_state_stays_in_memory_where_checkpoints_are_on_disk(tmp_path: Path) -> None:
    job = JobIdentity({}, ModelTable(1, (), np.dtype(np.float64)), lambda: TWO_INSTANCES)
    folder = CheckpointFolder(tmp_path, job)
    kept: list[bool] = []

    class Kept(TrainObserver):
        def epoch_done(self, report: EpochReport) -> None:
            kept.append(isinstance(progress.checkpoint, Checkpoint))

    progress = Progress(Checkpoint(0, np.zeros(1), NO_ROWS))
    events = [event for number in range(3) for event in epoch(number)]
    run(events, progress, folder, Kept(), epochs=3, checkpoint_every=1)
    assert kept == [True, False, False]
    assert isinstance(progress.checkpoint, Checkpoint)
