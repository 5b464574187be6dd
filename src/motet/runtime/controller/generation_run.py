"""One generation of a job from its set-up to its end: epochs, and plans beside them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from motet.domain.errors import MotetError, Unreachable
from motet.runtime.controller.checkpoints.folder import CheckpointFolder
from motet.runtime.controller.event_inbox import EventInbox, ExecutorEnded
from motet.runtime.controller.executor_pool import ExecutorPool
from motet.runtime.controller.generation.epoch_loop import EpochLoop, GenerationLost
from motet.runtime.controller.generation.generation import Generation
from motet.runtime.controller.generation.liveness import LivenessWatch
from motet.runtime.controller.job_plan import JobPlan
from motet.runtime.controller.ports import (
    ClusterLost,
    ExecutorCluster,
    ExecutorHandle,
    ExecutorLost,
)
from motet.runtime.controller.progress import Progress
from motet.runtime.controller.reconfiguration.operations import Operations
from motet.runtime.controller.reconfiguration.plan_queue import PlanQueue
from motet.runtime.controller.reconfiguration.plan_runner import PlanRunner
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import ReconfigurationReport
from motet.runtime.core.rows import Rows
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.elastic.replacement import usable_machines
from motet.runtime.wire.assignment import CONTROLLER, RunOutcome
from motet.transport.unused_memory import return_unused_memory


@dataclass(frozen=True)
class JobParts:
    """What all generations of a job share. `folder` None: checkpoints are kept in memory only."""

    plan: JobPlan
    rows: Rows
    options: TrainOptions
    cluster: ExecutorCluster
    pool: ExecutorPool
    inbox: EventInbox
    secret: bytes
    queue: PlanQueue
    observer: TrainObserver
    folder: CheckpointFolder | None


class GenerationRun:
    """Trains one generation on executors that have been started."""

    def __init__(self, number: int, layout: JobLayout, progress: Progress, job: JobParts) -> None:
        self._number = number
        self._progress = progress
        self._job = job
        self._is_over = threading.Event()
        self._silence = ""
        self._generation = Generation(
            number, job.plan, layout, job.pool.handles, job.inbox.endpoint, job.secret
        )
        self._operations = Operations(self._generation, layout, self._launch, job.pool.retire)
        self._plans = PlanRunner(
            self._operations,
            job.queue,
            lambda: usable_machines(job.cluster.machines()),
            lambda: len(progress.reports),
            self._reconfigured,
            self._lost,
        )
        self._liveness = LivenessWatch(
            lambda: self._generation.members.handles,
            job.secret,
            number,
            job.options.lost_after_s,
            self._silent,
        )

    @property
    def layout(self) -> JobLayout:
        """The present layout."""
        return self._operations.layout

    def train(self) -> None:
        """Train until training is over.

        Raises GenerationLost, ExecutorLost, Unreachable, or what ends the job: see `EpochLoop.run`.
        """
        try:
            self._liveness.start()
            self._start()
            self._epochs().run()
        except (GenerationLost, ExecutorLost, Unreachable) as lost:
            if self._silence:
                raise GenerationLost(self._silence) from lost
            raise
        finally:
            self._plans.stop_taking()
            self._is_over.set()
            self._liveness.close()
            self._generation.close()
            self._plans.close()

    def _start(self) -> None:
        job = self._job
        job.observer.preparing("distributing data and model")
        return_unused_memory()  # Readers of files leave some, and now most memory is in use.
        self._generation.set_up(job.rows, self._progress.checkpoint.read())
        self._progress.drop_from_memory(job.folder)
        job.observer.started(len(job.rows), job.plan.table.model.nbytes)
        self._generation.start(self._ended)
        job.queue.epochs_done(self._progress.checkpoint.epoch_count)
        job.queue.start_clock()
        self._plans.start()

    def _epochs(self) -> EpochLoop:
        job = self._job
        return EpochLoop(
            self._generation,
            job.inbox.events.get,
            job.options,
            self._progress,
            job.folder,
            job.observer,
            job.queue.epochs_done,
            self._pause,
        )

    def _pause(self) -> None:
        """On a thread of its own: a change of the work may be in progress."""
        threading.Thread(target=self._pause_work, name="motet-pause", daemon=True).start()

    def _pause_work(self) -> None:
        # A generation that is lost or over meanwhile ends the job in any case.
        with contextlib.suppress(MotetError, TimeoutError):
            self._operations.pause()

    def _launch(self, executor: int) -> ExecutorHandle:
        return self._job.pool.launch_one(executor, self._is_over.is_set)

    def _ended(self, number: int, life: int, outcome: RunOutcome | None) -> None:
        self._job.inbox.events.put(ExecutorEnded(self._number, number, life, outcome))

    def _lost(self, cause: str) -> None:
        self._ended(CONTROLLER, 0, RunOutcome("aborted", cause))

    def _silent(self, handles: Sequence[ExecutorHandle]) -> None:
        """Wake all threads that wait for these executors, and end them."""
        try:
            names = {machine.number: machine.name for machine in self._job.cluster.machines()}
        except ClusterLost:  # ends the job in any case
            return
        which = " and ".join(f"executor {it.number} ({names[it.number]})" for it in handles)
        self._silence = (
            f"no answer from {which} for {self._job.options.lost_after_s:g} s: the process is "
            "stopped, or its host stands still"
        )
        self._lost(self._silence)
        self._generation.cut_off()
        for handle in handles:
            handle.kill()

    def _reconfigured(self, report: ReconfigurationReport) -> None:
        self._progress.reconfigurations.append(report)
        self._job.observer.reconfigured(report)
