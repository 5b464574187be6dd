"""One parameter-server job from its first executor to its fitted model.

    launch executors -> [ set up -> train -> (an executor is lost: once more) ] -> finish

The job's thread is the controller: it lays out tables, feeds data, waits at each epoch's end,
evaluates, writes checkpoints and decides whether to go on.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motet.domain.errors import BadInput, ConnectionLost, Interrupted, JobFailed, Unreachable
from motet.runtime.application import Application
from motet.runtime.checkpoint import Checkpoint, CheckpointFolder
from motet.runtime.cluster import Cluster, ExecutorHandle, ExecutorLost, Roles
from motet.runtime.controller import (
    BatchProgress,
    Cancelled,
    Controller,
    ExecutorEnded,
    WorkerReport,
)
from motet.runtime.generation import Generation, JobPlan
from motet.runtime.local import DATA_BLOCKS
from motet.runtime.options import (
    EpochReport,
    Recovery,
    TrainObserver,
    TrainOptions,
    TrainResult,
)
from motet.runtime.rows import Rows
from motet.runtime.schedule import Schedule
from motet.runtime.shard import Synchronisation
from motet.runtime.table import MODEL_TABLE, TableSpec

Array = NDArray[Any]


class _ExecutorGone(Exception):
    """The present generation cannot go on."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


@dataclass
class _Progress:
    """Where training stands: what a restart would need."""

    checkpoint: Checkpoint
    reports: list[EpochReport] = field(default_factory=list)
    recoveries: list[Recovery] = field(default_factory=list)
    resumed_from_epoch: int | None = None


class Job:
    """A parameter-server job. `run` blocks; `cancel` may be called from another thread."""

    def __init__(
        self,
        app: Application,
        rows: Rows,
        options: TrainOptions,
        cluster: Cluster,
        observer: TrainObserver | None = None,
    ) -> None:
        """`rows`: as made by `app.prepare`. Raises BadInput for options that cannot work."""
        if options.consistency != "bsp" and app.needs_bsp:
            raise BadInput(
                f"consistency={options.consistency}: {app.name} needs the sum over all workers; "
                "use consistency=bsp"
            )
        if options.machines > cluster.machine_count:
            raise BadInput(
                f"machines={options.machines}: the cluster has {cluster.machine_count}; "
                "lower --machines"
            )
        self._app = app
        self._rows = rows
        self._options = options
        self._cluster = cluster
        self._observer = observer or TrainObserver()
        self._plan = _plan(app, rows, options)
        self._secret = os.urandom(32)
        self._controller = Controller(self._secret, cluster.host, options.port)
        self._handles: dict[int, ExecutorHandle] = {}

    def cancel(self) -> None:
        """End the job soon; `run` raises Interrupted."""
        self._controller.events.put(Cancelled())

    def run(self) -> TrainResult:
        """Train. Raises JobFailed, Interrupted (after `cancel`) or what the application raised."""
        began = time.perf_counter()
        scratch = tempfile.mkdtemp(prefix="motet-")
        try:
            folder = CheckpointFolder(
                self._options.checkpoint_dir or Path(scratch), self._fingerprint()
            )
            progress = self._first_progress(folder)
            self._launch(self._plan.roles.executors)
            final = self._train_through_failures(progress, folder)
            return self._finish(final, progress, time.perf_counter() - began)
        finally:
            self._close()
            shutil.rmtree(scratch, ignore_errors=True)

    # -- generations -----------------------------------------------------------------------------

    def _train_through_failures(self, progress: _Progress, folder: CheckpointFolder) -> Checkpoint:
        number = 0
        while True:
            try:
                return self._train_generation(number, progress, folder)
            except (_ExecutorGone, ExecutorLost, Unreachable) as lost:
                self._recover(str(lost), progress)
                number += 1

    def _train_generation(
        self, number: int, progress: _Progress, folder: CheckpointFolder
    ) -> Checkpoint:
        start = progress.checkpoint
        if start.epoch_count >= self._options.epochs:
            return start
        generation = Generation(
            number, self._plan, self._handles, self._controller.endpoint, self._secret
        )
        try:
            self._observer.preparing("distributing data and model")
            generation.set_up(self._rows, start)
            self._observer.started(len(self._rows), self._plan.table.model.nbytes)
            generation.start(self._on_end(number))
            return self._follow(generation, progress, folder)
        finally:
            generation.close()

    def _follow(
        self, generation: Generation, progress: _Progress, folder: CheckpointFolder
    ) -> Checkpoint:
        """The controller's loop: answer every epoch until the last one."""
        arrived: dict[int, list[WorkerReport]] = {}
        epoch_began = time.perf_counter()
        while True:
            event = self._next_event()
            if isinstance(event, WorkerReport) and event.generation == generation.number:
                reports = arrived.setdefault(event.epoch, [])
                reports.append(event)
                meets = self._is_rendezvous(event.epoch)
                if not meets:
                    event.answer("continue")
                if len(reports) < self._options.workers:
                    continue
                del arrived[event.epoch]
                now = time.perf_counter()
                final = self._end_epoch(generation, reports, now - epoch_began, progress, folder)
                if final is not None:
                    return final
                if meets:
                    for report in reports:
                        report.answer("continue")
                epoch_began = time.perf_counter()
            elif isinstance(event, BatchProgress) and event.generation == generation.number:
                self._observer.batch_done(event.epoch, event.batch, self._plan.schedule.batch_count)
            elif isinstance(event, ExecutorEnded) and event.generation == generation.number:
                self._judge(event)

    def _end_epoch(
        self,
        generation: Generation,
        reports: list[WorkerReport],
        wall_s: float,
        progress: _Progress,
        folder: CheckpointFolder,
    ) -> Checkpoint | None:
        """Evaluate, report, checkpoint; returns the final state when training is over."""
        epoch = reports[0].epoch
        model = generation.read_model(epoch + 1)
        report = self._epoch_report(reports, model, wall_s)
        progress.reports.append(report)
        self._observer.epoch_done(report)
        is_last = self._is_last(epoch, progress)
        if not is_last and not self._is_checkpoint(epoch):
            return None
        state = generation.read_state()
        checkpoint = Checkpoint(epoch + 1, model, state, tuple(progress.reports))
        if self._is_checkpoint(epoch) or self._options.checkpoint_dir is not None:
            folder.write(checkpoint)
        progress.checkpoint = checkpoint
        if not is_last:
            return None
        for worker in reports:
            worker.answer("stop")
        return checkpoint

    def _is_rendezvous(self, epoch: int) -> bool:
        options = self._options
        return (
            options.consistency == "bsp"
            or options.until is not None
            or epoch + 1 >= options.epochs
            or self._is_checkpoint(epoch)
        )

    def _is_checkpoint(self, epoch: int) -> bool:
        return (epoch + 1) % self._options.checkpoint_every == 0

    def _is_last(self, epoch: int, progress: _Progress) -> bool:
        until = self._options.until
        if epoch + 1 >= self._options.epochs:
            return True
        return until is not None and until.met([report.loss for report in progress.reports])

    def _epoch_report(
        self, reports: list[WorkerReport], model: Array, wall_s: float
    ) -> EpochReport:
        ordered = sorted(reports, key=lambda report: report.rank)
        sums = np.sum([report.sums for report in ordered], axis=0)
        evaluation = self._app.summarise(model, sums, len(self._rows))
        if not np.isfinite(evaluation.loss):
            raise JobFailed(
                f"the loss became {evaluation.loss} in epoch {reports[0].epoch}: training "
                "diverged; lower the learning rate (--set learning_rate=...)"
            )
        batch_us = np.max([report.batch_us for report in ordered], axis=0)
        return EpochReport(
            epoch=reports[0].epoch,
            loss=evaluation.loss,
            metrics=dict(evaluation.metrics),
            wall_s=wall_s,
            comp_s=float(np.mean([report.comp_us for report in ordered])) / 1e6,
            comm_s=float(np.mean([report.comm_us for report in ordered])) / 1e6,
            wait_s=float(np.mean([report.wait_us for report in ordered])) / 1e6,
            bytes_pulled=sum(report.pulled_bytes for report in ordered),
            bytes_pushed=sum(report.pushed_bytes for report in ordered),
            instances=len(self._rows),
            batch_s=tuple((batch_us / 1e6).tolist()),
        )

    # -- failures --------------------------------------------------------------------------------

    def _next_event(self) -> object:
        event = self._controller.events.get()
        if isinstance(event, Cancelled):
            raise Interrupted("the job was cancelled")
        return event

    def _on_end(self, generation: int) -> Any:
        events = self._controller.events
        return lambda number, outcome: events.put(ExecutorEnded(generation, number, outcome))

    def _judge(self, event: ExecutorEnded) -> None:
        if event.outcome is None:
            raise _ExecutorGone(f"executor {event.number} died")
        if event.outcome.kind == "failed":
            raise JobFailed(f"executor {event.number}: {event.outcome.detail}")
        if event.outcome.kind == "aborted":
            raise _ExecutorGone(f"executor {event.number} was cut off: {event.outcome.detail}")

    def _recover(self, cause: str, progress: _Progress) -> None:
        """Replace what is dead, stop what lives, go back to the last checkpoint."""
        lost_at = progress.reports[-1].epoch + 1 if progress.reports else 0
        start = progress.checkpoint
        progress.reports[:] = start.reports
        recovery = Recovery(lost_at, start.epoch_count, cause)
        progress.recoveries.append(recovery)
        if len(progress.recoveries) > self._options.max_recoveries:
            raise JobFailed(
                f"gave up after {self._options.max_recoveries} recoveries; the last cause: {cause}"
            )
        self._observer.recovering(recovery)
        dead = [number for number, handle in self._handles.items() if not _answers(handle)]
        for number in dead:
            self._handles.pop(number).kill()
        self._launch(dead)

    # -- start and end ---------------------------------------------------------------------------

    def _launch(self, machines: list[int]) -> None:
        if machines:
            self._observer.preparing(f"starting {len(machines)} executors")
            name = f"{self._app.name}-{os.getpid()}"
            self._handles |= self._cluster.launch(name, machines, self._secret, self._app)

    def _first_progress(self, folder: CheckpointFolder) -> _Progress:
        found = folder.latest() if self._options.resume else None
        if found is not None:
            return _Progress(found, list(found.reports), resumed_from_epoch=found.epoch_count)
        model = self._app.initial_model(self._rows, self._options.seed)
        state = self._rows.select(self._app.state_columns)
        return _Progress(Checkpoint(0, np.asarray(model), state))

    def _finish(self, final: Checkpoint, progress: _Progress, wall_s: float) -> TrainResult:
        order = np.argsort(self._rows.ids)
        rows = self._rows.take(order).with_columns(final.state.columns)
        self._app.adopt(final.model, rows)
        return TrainResult(
            self._app,
            tuple(progress.reports),
            _digest(final),
            wall_s,
            tuple(progress.recoveries),
            progress.resumed_from_epoch,
        )

    def _close(self) -> None:
        for handle in self._handles.values():
            handle.kill()
        self._controller.close()

    def _fingerprint(self) -> Mapping[str, Any]:
        model = self._plan.table.model
        return {
            "app": self._app.name,
            "parameters": {k: repr(v) for k, v in self._app.get_params().items()},
            "seed": self._options.seed,
            "instances": len(self._rows),
            "batches": self._plan.schedule.batch_count,
            "model_shape": list(model.shape),
            "model_dtype": model.dtype.str,
        }


def _plan(app: Application, rows: Rows, options: TrainOptions) -> JobPlan:
    batch_size = app.batch_size
    if options.worker_batch_size is not None:
        batch_size = options.worker_batch_size * options.workers
    return JobPlan(
        app=app,
        roles=Roles.spread(options.machines, options.workers, options.servers),
        schedule=Schedule.of(len(rows), batch_size, DATA_BLOCKS, options.seed),
        table=TableSpec.of(MODEL_TABLE, app.model_table()),
        sync=Synchronisation(options.consistency, options.staleness, options.workers),
    )


def _answers(handle: ExecutorHandle) -> bool:
    try:
        handle.abort()
    except (ExecutorLost, ConnectionLost):
        return False
    return True


def _digest(final: Checkpoint) -> str:
    digest = hashlib.sha256()
    model = np.ascontiguousarray(final.model)
    for name, array in [("model", model), *final.state.arrays()]:
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
