"""The first process of a training's gang: its controller, and an executor below it."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from motet.cruise.size_proposal import SizeBounds
from motet.domain.errors import BadInput, Interrupted, MotetError
from motet.domain.reconfiguration import RoleCounts
from motet.interfaces.cli.screens.run_log import RunLog
from motet.interfaces.cli.screens.train import LineProgress
from motet.interfaces.cli.shell.streams.visible import echo_note
from motet.interfaces.cli.train.auto import run_tuned
from motet.interfaces.cli.train.request import TrainFlags, TrainRequest, check_request
from motet.interfaces.cli.train.results import title_of, training_document, write_results
from motet.interfaces.training_gang.own_host import arbiter_of_machine, own_host
from motet.interfaces.training_gang.progress_file import ProgressFile, progress_file
from motet.interfaces.training_gang.stop_requests import StopRequests
from motet.live.jobs.attempt import UNFINISHED
from motet.live.jobs.job_file import job_spec
from motet.live.jobs.job_spec import TrainingSpec
from motet.report.training.folder import RunFolder
from motet.report.training.loss_file import LossFile
from motet.report.training.record import RunRecord
from motet.runtime.autotune.history import TuningHistory
from motet.runtime.autotune.instructions import ProposeSize
from motet.runtime.autotune.sizing import Sizing
from motet.runtime.backends.gang.cluster import GangCluster
from motet.runtime.backends.gang.meeting_place import MeetingPlace
from motet.runtime.backends.gang.member import run_member
from motet.runtime.blas_threads import one_blas_thread
from motet.runtime.controller.job import Job
from motet.runtime.controller.job_plan import plan_job
from motet.runtime.core.application import Application
from motet.runtime.core.reporting.reports import TrainResult
from motet.runtime.executor.application_fault import told_faults


class JobFolder(RunFolder):
    """Results of a job of the live cluster; its checkpoints are elsewhere."""

    def __init__(self, path: Path, checkpoints: Path) -> None:
        super().__init__(path)
        self._checkpoints = checkpoints

    @property
    def checkpoint_folder(self) -> Path:
        """All attempts of the job continue from here."""
        return self._checkpoints


def run_first_process(specification: str, gang: Path, stop_signals: Collection[int]) -> int:
    """Train, and write the results; returns the exit status.

    0: finished. UNFINISHED: a later attempt continues from the checkpoint. Others: as `motet
    train`; the training has failed by itself.
    """
    began_s, place = time.perf_counter(), MeetingPlace(gang)
    stops = StopRequests(stop_signals, UNFINISHED, place.close)
    try:
        spec = job_spec(json.loads(specification))
        assert isinstance(spec, TrainingSpec)
        return _Training(spec, stops, began_s).run(gang)
    except MotetError as error:
        echo_note(f"motet: error: {error}")
        return error.exit_code
    except Exception:
        traceback.print_exc()
        return 1
    finally:
        place.close()  # Other processes may still wait for a controller.


class _Training:
    """One attempt of a training: its request, and where it reports and writes."""

    def __init__(self, spec: TrainingSpec, stops: StopRequests, began_s: float) -> None:
        self._flags, self._stops, self._began_s = training_flags(spec, os.environ), stops, began_s
        self._spec = spec
        self._started_at = datetime.now(UTC)
        self._folder = JobFolder(
            Path(os.environ["MOTET_RESULTS_DIR"]), Path(os.environ["MOTET_CHECKPOINT_DIR"])
        )

    @one_blas_thread()
    def run(self, gang: Path) -> int:
        """Train and write the results; returns the exit status. Raises MotetError."""
        with RunLog(self._folder.log_file, echo=echo_note, echo_remark=echo_note) as log:
            log.begin()
            progress = LineProgress(log)
            host = own_host(os.environ)
            with GangCluster(gang, int(os.environ["MOTET_WORLD_SIZE"]), host) as cluster:
                job = os.environ["MOTET_JOB_ID"]
                member = gang, 0, host, arbiter_of_machine(os.environ), job
                threading.Thread(target=run_member, args=member, daemon=True).start()
                training = check_request(self._flags, self._folder, progress)
                check_async(self._spec, training.app)
                training = self._with_start(training, cluster)
                try:
                    result, history = self._trained(training, cluster, progress)
                except Interrupted as interruption:
                    log.line(str(interruption))
                    return UNFINISHED
            self._write(training, result, history, progress)
        return 0

    def _with_start(self, training: TrainRequest, cluster: GangCluster) -> TrainRequest:
        """With the first numbers of workers and servers, and the seconds of earlier attempts."""
        options, resumed = training.options, training.resumed
        if self._flags.auto:
            options = self._flags.auto_start.on(cluster, options, training.most_workers)
        before_s = 0.0 if resumed is None else resumed.spent_s
        spent_s = before_s + time.perf_counter() - self._began_s
        return replace(training, options=replace(options, spent_s=spent_s))

    def _trained(
        self, training: TrainRequest, cluster: GangCluster, progress: LineProgress
    ) -> tuple[TrainResult, TuningHistory | None]:
        """Raises Interrupted after a stop signal."""
        job = Job(training.app, training.rows, training.options, cluster)
        earlier = () if training.resumed is None else training.resumed.reports
        job.listen(LossFile(self._folder, earlier))  # First: the file holds what the screen says.
        job.listen(progress)
        reports = progress_file(os.environ, earlier, overlaps=job.plan.overlaps)
        job.listen(reports)
        self._stops.pass_to(job.suspend)
        try:
            with told_faults(training.app):
                if not self._flags.auto:
                    return job.run(), None
                return run_tuned(job, progress, sizing=self._sizing(reports, progress))
        finally:
            reports.tell()

    def _sizing(self, reports: ProgressFile, progress: LineProgress) -> Sizing | None:
        """None for a job that has no bounds to choose a size within.

        A restart takes as long as this attempt took until here.
        """
        spec = self._spec
        if not spec.proposes_size:
            return None
        present = RoleCounts(self._flags.workers or 1, self._flags.servers or 1)
        move_s = time.perf_counter() - self._began_s
        bounds = SizeBounds(spec.least, spec.most)

        def propose(wish: ProposeSize) -> None:
            roles = wish.roles
            progress.remark(f"proposes {roles.workers} workers + {roles.servers} servers")
            reports.propose(wish)

        return Sizing(bounds, present, spec.epochs, move_s, propose)

    def _write(
        self,
        training: TrainRequest,
        result: TrainResult,
        history: TuningHistory | None,
        progress: LineProgress,
    ) -> None:
        """Raises JobFailed."""
        progress.preparing("evaluating")
        document = training_document(self._flags, training, result, history)
        progress.preparing(f"writing {self._folder.path}")
        plan = plan_job(training.app, training.rows, training.options)
        record = RunRecord.of(
            "finished", sys.argv, self._started_at, plan, training.options, training.data
        )
        if history is not None:
            counts = training.data.counts
            self._folder.write_tuning_history(history, title_of(document), counts)
        write_results(self._folder, training, result, document, record)


def check_async(spec: TrainingSpec, app: Application) -> None:
    """Whether the policy may train it asynchronously. `app`: with its parameters and data.

    Raises BadInput: at the first attempt, not at the first asynchronous one.
    """
    if not spec.allow_async:
        return
    if app.needs_bsp:
        instead = f", or set {app.without_bsp}" if app.without_bsp else ""
        text = f"allow_async: {app.name} needs the sum over all workers; leave it out{instead}"
        raise BadInput(text)
    if app.model_table().exchanges_changes:
        raise BadInput(f"allow_async: {app.name} cannot pull while it computes; leave it out")


def training_flags(spec: TrainingSpec, environment: Mapping[str, str]) -> TrainFlags:
    """The options of `motet train` for this attempt; it continues where the last one ended."""
    return TrainFlags(
        app=spec.app,
        data=spec.data,
        format_name=spec.format,
        test=spec.test,
        exclude=spec.exclude,
        target=None if spec.target is None else str(spec.target),
        drop=tuple(map(str, spec.drop)),
        na=spec.na,
        columns=spec.columns.given,
        stop_words=spec.stop_words,
        labels=spec.labels,
        test_labels=spec.test_labels,
        machines=int(environment["MOTET_WORLD_SIZE"]),
        workers=int(environment["MOTET_WORKERS"]),
        servers=int(environment["MOTET_SERVERS"]),
        epochs=spec.epochs,
        until=spec.until,
        settings=(*spec.settings, *_chosen_settings(environment)),
        seed=spec.seed,
        checkpoint_every=spec.checkpoint_every,
        spill=None if spec.spill is None else str(spec.spill),
        spill_dir=None if spec.spill_dir is None else Path(spec.spill_dir),
        spill_to=spec.spill_to,
        spill_secret=None if spec.spill_secret is None else Path(spec.spill_secret),
        resume=True,
        leaves_surplus=spec.is_elastic,
        auto=spec.auto,
    )


def _chosen_settings(environment: Mapping[str, str]) -> tuple[str, ...]:
    """What the policy chose for this attempt."""
    chosen = environment.get("MOTET_CONSISTENCY")
    return () if chosen is None else (f"consistency={chosen}",)
