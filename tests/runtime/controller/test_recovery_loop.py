"""Losses in, generations and recoveries out: the loop on generations that follow a script."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from in_process_cluster import InProcessCluster
from motet.domain.errors import Interrupted, JobFailed, Unreachable
from motet.runtime.controller.checkpoints.checkpoint import Checkpoint
from motet.runtime.controller.event_inbox import (
    CancelRequested,
    ControllerEvent,
    ObserverFailed,
    SuspensionRequested,
)
from motet.runtime.controller.executor_pool import ExecutorPool
from motet.runtime.controller.generation.epoch_loop import GenerationLost
from motet.runtime.controller.job_plan import plan_job
from motet.runtime.controller.ports import ExecutorLost, LaunchGivenUp
from motet.runtime.controller.progress import Progress
from motet.runtime.controller.recovery_loop import RecoveryLoop
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import Recovery
from motet.runtime.core.rows import Rows
from motet.runtime.elastic.layout import JobLayout
from toy_app import ToyRegression

OPTIONS = TrainOptions(machines=3, workers=2, servers=1, epochs=10, max_recoveries=2)
NO_ROWS = Rows(np.empty(0, np.int64), {})
Step = Callable[["Scripted"], None]


class Memory(TrainObserver):
    def __init__(self) -> None:
        self.recoveries: list[Recovery] = []

    def recovering(self, recovery: Recovery) -> None:
        self.recoveries.append(recovery)


@dataclass
class Scripted:
    """A generation: `step` is what happens in it."""

    layout: JobLayout
    progress: Progress
    job: ScriptedJob
    step: Step

    def train(self) -> None:
        self.step(self)


@dataclass
class ScriptedJob:
    """A recovery loop whose generations take one step of the script each."""

    script: Sequence[Step]
    begun: list[tuple[int, list[int], int]] = field(default_factory=list)
    posted: list[ControllerEvent] = field(default_factory=list)
    memory: Memory = field(default_factory=Memory)
    cluster: InProcessCluster = field(default_factory=lambda: InProcessCluster(4))
    progress: Progress = field(
        default_factory=lambda: Progress(Checkpoint(0, np.zeros(1), NO_ROWS))
    )

    def __post_init__(self) -> None:
        app = ToyRegression()
        self.plan = plan_job(app, app.prepare(None, seed=1), OPTIONS)
        self.pool = ExecutorPool(self.cluster, "job", b"s" * 32, app, lambda text: None)
        self.loop = RecoveryLoop(
            self.pool, self.plan.first_layout, OPTIONS, self.memory, self.posted.append
        )

    def run(self) -> None:
        steps = iter(self.script)

        def begin(number: int, layout: JobLayout, progress: Progress) -> Scripted:
            self.begun.append((number, layout.executors, progress.checkpoint.epoch_count))
            return Scripted(layout, progress, self, next(steps))

        try:
            self.loop.run(self.progress, begin)
        finally:
            self.pool.close()


def finish(generation: Scripted) -> None:
    generation.progress.checkpoint = replace(generation.progress.checkpoint, epoch_count=10)


def checkpoint(epoch_count: int, then: Step) -> Step:
    def step(generation: Scripted) -> None:
        reached = replace(generation.progress.checkpoint, epoch_count=epoch_count)
        generation.progress.checkpoint = reached
        then(generation)

    return step


def fail(error: Exception) -> Step:
    def step(generation: Scripted) -> None:
        raise error

    return step


def test_an_undisturbed_job_has_one_generation() -> None:
    job = ScriptedJob([finish])
    job.run()
    assert job.begun == [(0, [0, 1, 2], 0)]
    assert job.memory.recoveries == []


def test_a_job_that_was_over_before_starts_nothing() -> None:
    job = ScriptedJob([], progress=Progress(Checkpoint(10, np.zeros(1), NO_ROWS)))
    job.run()
    assert (job.begun, job.cluster.launches) == ([], [])


@pytest.mark.parametrize(
    "loss",
    [GenerationLost("executor 1 died"), ExecutorLost("it died"), Unreachable("nobody answers")],
)
def test_every_kind_of_loss_leads_to_another_generation_from_the_checkpoint(
    loss: Exception,
) -> None:
    job = ScriptedJob([checkpoint(4, fail(loss)), finish])
    job.run()
    assert job.begun == [(0, [0, 1, 2], 0), (1, [0, 1, 2], 4)]
    assert job.memory.recoveries == [Recovery(0, 4, str(loss))]
    assert job.progress.recoveries == job.memory.recoveries


def lose_machine(number: int) -> Step:
    def step(generation: Scripted) -> None:
        machines = generation.job.cluster._machines
        machines[number] = replace(machines[number], condition="gone")
        generation.job.cluster.executors[number].kill()
        raise GenerationLost("its machine is gone")

    return step


def test_a_spare_takes_the_place_of_a_lost_machine() -> None:
    job = ScriptedJob([lose_machine(1), finish])
    job.run()
    assert [executors for _, executors, _ in job.begun] == [[0, 1, 2], [0, 2, 3]]
    assert job.cluster.launches == [[0, 1, 2], [3]]


def change_layout(generation: Scripted) -> None:
    generation.layout = generation.layout.with_role(3, "worker")
    raise GenerationLost("while it was reconfigured")


def test_the_next_generation_begins_with_the_layout_that_the_last_one_had() -> None:
    job = ScriptedJob([change_layout, finish])
    job.run()
    assert [executors for _, executors, _ in job.begun] == [[0, 1, 2], [0, 1, 2, 3]]
    assert job.loop.layout.workers == (0, 1, 3)


def test_the_present_layout_is_that_of_the_running_generation() -> None:
    seen: list[JobLayout] = []

    def look(generation: Scripted) -> None:
        generation.layout = generation.layout.with_role(3, "worker")
        seen.append(generation.job.loop.layout)
        finish(generation)

    ScriptedJob([look]).run()
    assert seen[0].workers == (0, 1, 3)


def test_a_job_gives_up_after_its_recoveries_without_progress() -> None:
    loss = fail(GenerationLost("executor 0 died"))
    job = ScriptedJob([loss, loss, checkpoint(2, loss), loss, loss])
    with pytest.raises(JobFailed, match="gave up after 2 recoveries without progress; the last"):
        job.run()
    assert [it.resumed_from_epoch for it in job.memory.recoveries] == [0, 0, 2, 2]


def test_other_errors_end_the_job_at_once() -> None:
    job = ScriptedJob([fail(JobFailed("a bug in the application"))])
    with pytest.raises(JobFailed, match="a bug"):
        job.run()
    assert job.memory.recoveries == []


def test_a_cancelled_job_posts_it_and_gives_launches_up() -> None:
    job = ScriptedJob([fail(LaunchGivenUp())])
    job.loop.cancel()
    assert job.posted == [CancelRequested()]
    with pytest.raises(Interrupted, match="cancelled"):
        job.run()


@pytest.mark.parametrize("lost", [LaunchGivenUp(), GenerationLost("executor 1 died")])
def test_a_suspended_job_starts_no_further_generation(lost: Exception) -> None:
    job = ScriptedJob([fail(lost)])
    job.loop.suspend()
    assert job.posted == [SuspensionRequested()]
    with pytest.raises(Interrupted, match="stopped"):
        job.run()
    assert len(job.begun) == 1


@pytest.mark.parametrize("then", [finish, fail(GenerationLost("its connections were closed"))])
def test_what_an_observer_raised_ends_the_job_whatever_else_happens(then: Step) -> None:
    error = ValueError("the disk is full")

    def observer_fails(generation: Scripted) -> None:
        generation.job.loop.fail(error)
        then(generation)

    job = ScriptedJob([observer_fails])
    with pytest.raises(ValueError, match="the disk is full"):
        job.run()
    assert job.posted == [ObserverFailed(error)]
    assert job.memory.recoveries == []
