"""One parameter-server job from its first executor to its fitted model.

    launch executors -> [ set up -> train -> (an executor is lost: once more) ] -> finish

The job's thread is the controller: it lays out tables, feeds data, waits at each epoch's end,
evaluates, writes checkpoints and decides whether to go on.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from uuid import uuid4

import numpy as np

from motet.domain.errors import BadInput, Interrupted, JobFailed, Unreachable
from motet.domain.reconfiguration import Plan
from motet.runtime.controller.checkpoint import Checkpoint, CheckpointFolder
from motet.runtime.controller.epoch_loop import EpochLoop, GenerationLost, Progress
from motet.runtime.controller.event_inbox import (
    Cancelled,
    EventInbox,
    ExecutorEnded,
    ObserverFailed,
)
from motet.runtime.controller.executor_group import Generation
from motet.runtime.controller.executor_pool import ExecutorPool
from motet.runtime.controller.fingerprint import fingerprint, state_digest
from motet.runtime.controller.job_plan import JobPlan
from motet.runtime.controller.machine_watch import MachineWatch
from motet.runtime.controller.operations import Operations
from motet.runtime.controller.plan_runner import PlanRunner
from motet.runtime.controller.ports import ExecutorCluster, ExecutorLost, LaunchGivenUp
from motet.runtime.core.application import Application
from motet.runtime.core.consistency import Synchronisation
from motet.runtime.core.machine import Machine
from motet.runtime.core.observers import Observers, TrainObserver
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reports import ReconfigurationReport, Recovery, TrainResult
from motet.runtime.core.rows import Rows
from motet.runtime.core.schedule import DATA_BLOCKS, Schedule
from motet.runtime.core.table_spec import MODEL_TABLE, TableSpec
from motet.runtime.elastic.layout import Layout
from motet.runtime.elastic.plan_queue import PlanMaker, PlanQueue, Reconfiguration, Timed
from motet.runtime.elastic.replacement import usable, vacating
from motet.runtime.elastic.roles import Roles
from motet.runtime.wire.assignment import CONTROLLER, RunOutcome


class Job:
    """A parameter-server job. `run` blocks; `cancel` may be called from another thread."""

    def __init__(
        self,
        app: Application,
        rows: Rows,
        options: TrainOptions,
        cluster: ExecutorCluster,
        observer: TrainObserver | None = None,
        timetable: tuple[Timed, ...] = (),
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
        self._app = app
        self._rows = rows
        self._options = options
        self._cluster = cluster
        self._is_cancelled = threading.Event()
        self._failure: Exception | None = None
        self._observer = Observers([] if observer is None else [observer], self._observer_failed)
        self._name = f"{app.name}-{uuid4().hex[:8]}"
        self._secret = os.urandom(32)
        self._controller = EventInbox(self._secret, cluster.host, options.port)
        self._pool = ExecutorPool(cluster, self._name, self._secret, app, self._observer.preparing)
        self._queue = PlanQueue(timetable)
        self._layout = self._plan.first_layout
        self._operations: Operations | None = None
        self._on_machines: Callable[[Sequence[Machine]], None] = self._vacate
        self._watch = MachineWatch(cluster.machines, self._machines_changed)

    def cancel(self) -> None:
        """End the job soon; `run` raises Interrupted."""
        self._is_cancelled.set()
        self._controller.events.put(Cancelled())

    def reconfigure(
        self,
        plan: Plan | PlanMaker,
        predicted_gain: float | None = None,
        *,
        is_urgent: bool = False,
    ) -> Reconfiguration:
        """Carry out a plan while training goes on; may be called from any thread.

        Plans are carried out one after another; a function is asked for its plan when its turn
        comes. An urgent one overtakes those that wait. Operations that an executor's loss cuts off
        are done after the recovery.
        """
        make_plan = (lambda layout: plan) if isinstance(plan, Plan) else plan
        wanted = Reconfiguration(make_plan, predicted_gain)
        (self._queue.put_first if is_urgent else self._queue.put)(wanted)
        return wanted

    @property
    def missed_plans(self) -> int:
        """How many plans of the timetable had not begun when training ended."""
        return self._queue.missed

    def listen(self, observer: TrainObserver) -> None:
        """Tell one more observer, from now on."""
        self._observer.add(observer)

    @property
    def plan(self) -> JobPlan:
        """What stays the same as long as it trains."""
        return self._plan

    @property
    def rows(self) -> Rows:
        """Its instances as they were given."""
        return self._rows

    def machines(self) -> list[Machine]:
        """The cluster's that are there, also those that it will have to leave."""
        return [machine for machine in self._cluster.machines() if machine.condition != "gone"]

    def leave_machines_to(self, listener: Callable[[Sequence[Machine]], None] | None) -> None:
        """Have somebody else react to machines that appear or will be taken away.

        `listener` hears of all machines, on a thread of its own, whenever something has changed,
        and moves the job by `reconfigure`. Without it (None) the job itself leaves machines that
        will be taken away, and makes no use of new ones until it needs a spare.
        """
        self._on_machines = listener or self._vacate

    @property
    def layout(self) -> Layout:
        """Who does what now."""
        operations = self._operations
        return self._layout if operations is None else operations.layout

    def run(self) -> TrainResult:
        """Train.

        Raises JobFailed, Interrupted (after `cancel`), or what the application or an observer did.
        """
        began_s = time.perf_counter()
        try:
            folder = self._folder()
            progress = self._first_progress(folder)
            self._watch.start()
            self._train_through_failures(progress, folder)
            if self._failure is not None:
                raise self._failure
            return self._finish(progress, time.perf_counter() - began_s)
        finally:
            self._close()

    # -- generations -------------------------------------------------------------------------------

    def _train_through_failures(self, progress: Progress, folder: CheckpointFolder | None) -> None:
        number = 0
        while not self._is_over(progress):
            try:
                self._layout = self._pool.reconcile(self._layout, self._is_cancelled.is_set)
                self._train_generation(number, progress, folder)
            except (GenerationLost, ExecutorLost, Unreachable) as lost:
                if self._failure is not None:
                    raise self._failure from lost
                self._recover(str(lost), progress)
                number += 1
            except LaunchGivenUp as cancelled:
                raise Interrupted("the job was cancelled") from cancelled

    def _is_over(self, progress: Progress) -> bool:
        until = self._options.until
        losses = [report.loss for report in progress.reports]
        is_converged = until is not None and until.met(losses)
        return is_converged or progress.checkpoint.epoch_count >= self._options.epochs

    def _train_generation(
        self, number: int, progress: Progress, folder: CheckpointFolder | None
    ) -> None:
        listening = self._controller.endpoint
        generation = Generation(
            number, self._plan, self._layout, self._pool.handles, listening, self._secret
        )
        is_over = threading.Event()
        operations = Operations(
            generation,
            self._layout,
            lambda executor: self._pool.launch_one(executor, is_over.is_set),
            self._pool.retire,
        )
        self._operations = operations
        plan_runner = PlanRunner(
            operations,
            self._queue,
            lambda: usable(self._cluster.machines()),
            lambda: len(progress.reports),
            lambda report: self._reconfigured(progress, report),
            lambda why: self._controller.events.put(
                ExecutorEnded(number, CONTROLLER, 0, RunOutcome("aborted", why))
            ),
        )
        try:
            self._observer.preparing("distributing data and model")
            generation.set_up(self._rows, progress.checkpoint)
            self._observer.started(len(self._rows), self._plan.table.model.nbytes)
            events = self._controller.events
            generation.start(
                lambda who, life, how: events.put(ExecutorEnded(number, who, life, how))
            )
            self._queue.epochs_done(progress.checkpoint.epoch_count)
            self._queue.start_clock()
            plan_runner.start()
            EpochLoop(
                generation,
                self._controller,
                self._options,
                progress,
                folder,
                self._observer,
                self._queue.epochs_done,
            ).run()
        finally:
            plan_runner.stop_taking()
            is_over.set()
            generation.close()
            plan_runner.close()
            self._layout, self._operations = operations.layout.repaired(), None

    def _recover(self, cause: str, progress: Progress) -> None:
        """Go back to the last checkpoint: stop what lives, let go of what is dead."""
        lost_at = progress.reports[-1].epoch + 1 if progress.reports else 0
        recovery = Recovery(lost_at, progress.checkpoint.epoch_count, cause)
        if _in_a_row(progress) == self._options.max_recoveries:
            raise JobFailed(
                f"gave up after {self._options.max_recoveries} recoveries without progress; "
                f"the last cause: {cause}"
            )
        progress.reports[:] = progress.checkpoint.reports
        progress.recoveries.append(recovery)
        self._observer.recovering(recovery)
        self._pool.retire_the_dead()

    # -- start and end ---------------------------------------------------------------------------

    def _machines_changed(self, changed: Sequence[Machine], machines: Sequence[Machine]) -> None:
        for machine in changed:
            self._observer.machine_changed(machine)
        self._on_machines(machines)

    def _vacate(self, machines: Sequence[Machine]) -> None:
        """Move away from machines that will be taken away, while they are still there."""
        is_leaving = any(
            machines[executor].condition == "leaving" for executor in self.layout.executors
        )
        if is_leaving and usable(machines):
            self.reconfigure(
                lambda layout: vacating(layout, self._cluster.machines()), is_urgent=True
            )

    def _reconfigured(self, progress: Progress, report: ReconfigurationReport) -> None:
        progress.reconfigurations.append(report)
        self._observer.reconfigured(report)

    def _observer_failed(self, error: Exception) -> None:
        """Wherever an observer was called when it raised this, the job ends with it."""
        self._failure = error
        self._controller.events.put(ObserverFailed(error))

    def _folder(self) -> CheckpointFolder | None:
        """Where checkpoints are kept beyond this process; without `resume` old ones go."""
        if self._options.checkpoint_dir is None:
            return None
        wanted = fingerprint(self._plan, self._rows, self._options.seed)
        folder = CheckpointFolder(self._options.checkpoint_dir, wanted, self._options.spent_s)
        if not self._options.resume:
            folder.clear()
        return folder

    def _first_progress(self, folder: CheckpointFolder | None) -> Progress:
        found = None if folder is None else folder.to_resume(self._options.epochs)
        if found is not None:
            return Progress(found, list(found.reports), resumed_from_epoch=found.epoch_count)
        model = self._app.initial_model(self._rows, self._options.seed)
        return Progress(
            Checkpoint(0, np.asarray(model), self._rows.select(self._app.state_columns))
        )

    def _finish(self, progress: Progress, wall_s: float) -> TrainResult:
        final = progress.checkpoint
        rows = self._rows.take(np.argsort(self._rows.ids)).with_columns(final.state.columns)
        self._app.adopt(final.model, rows)
        return TrainResult(
            self._app,
            tuple(progress.reports),
            state_digest(final),
            self._options.spent_s + wall_s,
            tuple(progress.recoveries),
            progress.resumed_from_epoch,
            tuple(progress.reconfigurations),
        )

    def _close(self) -> None:
        self._watch.close()
        self._queue.cancel_all()
        self._pool.close()
        self._controller.close()


def _check(app: Application, options: TrainOptions) -> None:
    if options.consistency != "bsp" and app.needs_bsp:
        raise BadInput(
            f"consistency={options.consistency}: {app.name} needs the sum over all workers; "
            "use consistency=bsp"
        )
    if options.worker_batch_size is not None and "batch_size" not in app.get_params():
        raise BadInput(
            f"worker_batch_size={options.worker_batch_size}: {app.name} always takes the whole "
            "data set as one mini-batch; leave worker_batch_size out"
        )


def plan_job(app: Application, rows: Rows, options: TrainOptions) -> JobPlan:
    """How a job will be laid out. Raises BadInput for options that cannot work together.

    Needs no cluster, so a command can refuse before it starts one.
    """
    _check(app, options)
    batch_size = app.batch_size
    if options.worker_batch_size is not None:
        batch_size = options.worker_batch_size * options.workers
    schedule = Schedule.of(len(rows), batch_size, DATA_BLOCKS, options.seed)
    if options.workers > schedule.block_count:
        raise BadInput(
            f"workers={options.workers}: {len(rows)} instances in mini-batches of "
            f"{batch_size or len(rows)} make {schedule.block_count} data blocks, one worker each; "
            "lower --workers or raise batch_size"
        )
    roles = Roles.spread(options.machines, options.workers, options.servers)
    return JobPlan(
        app=app,
        roles=roles,
        schedule=schedule,
        table=TableSpec.of(MODEL_TABLE, app.model_table()),
        sync=Synchronisation(options.consistency, options.staleness, roles.workers),
        helps=options.stragglers == "help",
    )


def _in_a_row(progress: Progress) -> int:
    """Recoveries that went back to the present checkpoint."""
    here = progress.checkpoint.epoch_count
    return sum(recovery.resumed_from_epoch == here for recovery in progress.recoveries)
