"""A parameter-server job: what callers start, change, watch and cancel."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from uuid import uuid4

import numpy as np

from motet.domain.arrays import Array
from motet.domain.errors import BadInput
from motet.domain.reconfiguration import Plan
from motet.runtime.controller.checkpoints.first_checkpoint import FirstCheckpoint
from motet.runtime.controller.checkpoints.folder import CheckpointFolder
from motet.runtime.controller.checkpoints.folder_lock import locked_folder
from motet.runtime.controller.checkpoints.identity import identity_of, state_digest
from motet.runtime.controller.evacuation import Evacuation
from motet.runtime.controller.event_inbox import EventInbox
from motet.runtime.controller.executor_pool import ExecutorPool
from motet.runtime.controller.generation_run import GenerationRun, JobParts
from motet.runtime.controller.job_plan import JobPlan, plan_job
from motet.runtime.controller.machine_watch import MachineWatch
from motet.runtime.controller.ports import ExecutorCluster
from motet.runtime.controller.progress import Progress
from motet.runtime.controller.reconfiguration.plan_queue import (
    PlanMaker,
    PlanQueue,
    Reconfiguration,
    TimedPlan,
)
from motet.runtime.controller.recovery_loop import RecoveryLoop
from motet.runtime.core.application import Application
from motet.runtime.core.machine import Machine
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.observers import Observers, TrainObserver
from motet.runtime.core.reporting.reports import TrainResult
from motet.runtime.core.rows import Rows
from motet.runtime.core.table_spec import first_model
from motet.runtime.elastic.layout import JobLayout


class Job:
    """A parameter-server job. `run` blocks; all other methods may be called from any thread."""

    def __init__(
        self,
        app: Application,
        rows: Rows,
        options: TrainOptions,
        cluster: ExecutorCluster,
        observer: TrainObserver | None = None,
        timetable: tuple[TimedPlan, ...] = (),
    ) -> None:
        """`rows`: as made by `app.prepare`; `timetable`: reconfigurations for later.

        Raises BadInput for options that cannot work.
        """
        if options.machines > cluster.machine_count:
            raise BadInput(
                f"machines={options.machines}: the cluster has {cluster.machine_count}; "
                "lower --machines"
            )
        self._plan = plan_job(app, rows, options)
        self._rows = rows
        self._options = options
        self._cluster = cluster
        self._observer = Observers([] if observer is None else [observer], self._observer_failed)
        self._secret = os.urandom(32)
        self._inbox = EventInbox(self._secret, cluster.host, options.port)
        name = f"{app.name}-{uuid4().hex[:8]}"
        self._pool = ExecutorPool(cluster, name, self._secret, app, self._observer.preparing)
        self._queue = PlanQueue(timetable)
        self._recovery = RecoveryLoop(
            self._pool, self._plan.first_layout, options, self._observer, self._inbox.events.put
        )
        self._evacuation = Evacuation(
            lambda: self.layout,
            cluster.machines,
            lambda plan: self.reconfigure(plan, is_urgent=True),
        )
        self._on_machines: Callable[[Sequence[Machine]], None] = self._evacuation.machines_changed
        self._watch = MachineWatch(cluster.machines, self._machines_changed, self._recovery.fail)

    def run(self) -> TrainResult:
        """Train.

        Raises JobFailed, Interrupted (after `cancel`, `suspend`), BadInput if another run writes to
        the same folder of checkpoints, or what the application or an observer did.
        """
        try:
            with self._checkpoint_lock():
                progress, wall_s = self._trained()
        finally:
            self._close()
        self._observer.freed()
        return self._result(progress, wall_s)

    def cancel(self) -> None:
        """End the job soon; `run` raises Interrupted."""
        self._recovery.cancel()

    def suspend(self) -> None:
        """End the job soon, with a checkpoint; `run` raises Interrupted.

        Under BSP all workers stop after the PUSH of the mini-batch in progress, or of the next one.
        Under SSP and async the job ends at the next epoch that all workers wait for. If training
        ends there, `run` returns.
        """
        self._recovery.suspend()

    # -- change ----------------------------------------------------------------------------------

    def reconfigure(
        self,
        plan: Plan | PlanMaker,
        predicted_gain: float | None = None,
        *,
        is_urgent: bool = False,
    ) -> Reconfiguration:
        """Carry out a plan while training goes on.

        Plans are carried out one after another; a function is called for its plan when its turn
        comes. An urgent one overtakes those that wait. Operations that an executor's loss cuts off
        are done after the recovery.
        """
        make_plan = (lambda layout: plan) if isinstance(plan, Plan) else plan
        wanted = Reconfiguration(make_plan, predicted_gain)
        (self._queue.put_first if is_urgent else self._queue.put)(wanted)
        return wanted

    def leave_machines_to(self, listener: Callable[[Sequence[Machine]], None] | None) -> None:
        """Call `listener` instead of reacting to machines that appear or will be taken away.

        `listener` gets all machines, on a thread of its own, whenever something has changed, and
        moves the job by `reconfigure`. Without it (None) the job itself leaves machines that will
        be taken away, and makes no use of new ones until it needs a spare.
        """
        self._on_machines = listener or self._evacuation.machines_changed

    # -- watch -----------------------------------------------------------------------------------

    def listen(self, observer: TrainObserver) -> None:
        """Add an observer, from now on."""
        self._observer.add(observer)

    @property
    def plan(self) -> JobPlan:
        """What stays the same as long as it trains."""
        return self._plan

    @property
    def rows(self) -> Rows:
        """Its instances as they were given."""
        return self._rows

    @property
    def layout(self) -> JobLayout:
        """The present roles of executors and owners of blocks."""
        return self._recovery.layout

    @property
    def missed_plans(self) -> int:
        """How many plans of the timetable had not begun when training ended."""
        return self._queue.missed

    def machines(self) -> list[Machine]:
        """The cluster's that are there, also those that it will have to leave."""
        return [machine for machine in self._cluster.machines() if machine.condition != "gone"]

    # -- start and end ---------------------------------------------------------------------------

    def _checkpoint_lock(self) -> AbstractContextManager[None]:
        folder = self._options.checkpoint_dir
        return nullcontext() if folder is None else locked_folder(folder)

    def _trained(self) -> tuple[Progress, float]:
        began_s = time.perf_counter()
        folder = self._folder()
        progress = self._first_progress(folder)
        self._watch.start()
        parts = self._parts(folder)
        self._recovery.run(
            progress, lambda number, layout, now: GenerationRun(number, layout, now, parts)
        )
        return progress, time.perf_counter() - began_s

    def _folder(self) -> CheckpointFolder | None:
        """Where checkpoints are kept beyond this process; without `resume` old ones are removed."""
        if self._options.checkpoint_dir is None:
            return None
        job = identity_of(self._plan, self._rows, self._options.seed)
        folder = CheckpointFolder(self._options.checkpoint_dir, job, self._options.spent_s)
        if not self._options.resume:
            folder.clear()
        return folder

    def _first_progress(self, folder: CheckpointFolder | None) -> Progress:
        found = None if folder is None else folder.to_resume(self._options.epochs)
        if found is not None:
            return Progress(found, list(found.reports), resumed_from_epoch=found.epoch_count)
        return Progress(
            FirstCheckpoint(self._first_model, self._rows.select(self._plan.app.state_columns))
        )

    def _first_model(self) -> Array:
        return first_model(self._plan.app, self._rows, self._options.seed)

    def _parts(self, folder: CheckpointFolder | None) -> JobParts:
        return JobParts(
            plan=self._plan,
            rows=self._rows,
            options=self._options,
            cluster=self._cluster,
            pool=self._pool,
            inbox=self._inbox,
            secret=self._secret,
            queue=self._queue,
            observer=self._observer,
            folder=folder,
        )

    def _result(self, progress: Progress, wall_s: float) -> TrainResult:
        """The application becomes a fitted estimator.

        It copies the model, and no executor has memory any more.
        """
        final, app = progress.checkpoint.read(), self._plan.app
        rows = self._rows.seen_by_id().with_columns(final.state.columns)
        app.become_fitted(np.array(final.model), rows)  # Not in memory shared with processes.
        return TrainResult(
            app,
            tuple(progress.reports),
            state_digest(final),
            self._options.spent_s + wall_s,
            tuple(progress.recoveries),
            progress.resumed_from_epoch,
            progress.convergence(app.residual_name, self._options),
            tuple(progress.reconfigurations),
        )

    def _close(self) -> None:
        self._watch.close()
        self._queue.cancel_all()
        self._pool.close()
        self._inbox.close()

    def _machines_changed(self, changed: Sequence[Machine], machines: Sequence[Machine]) -> None:
        for machine in changed:
            self._observer.machine_changed(machine)
        self._on_machines(machines)

    def _observer_failed(self, error: Exception) -> None:
        """The job ends with what an observer raised on another thread."""
        self._recovery.fail(error)
