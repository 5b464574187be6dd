"""`motet train`: check, start a cluster, train while showing progress, write the results."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from rich.console import Console

from motet.interfaces.cli.screens.run_log import RunLog, no_echo
from motet.interfaces.cli.screens.train import LINE_EVERY_S, LineProgress, LiveTrain, live
from motet.interfaces.cli.shell.process.interruption import (
    Hint,
    forget_interruption,
    prepare_interruption,
)
from motet.interfaces.cli.shell.streams.results import print_result
from motet.interfaces.cli.shell.streams.safe_console import SafeConsole
from motet.interfaces.cli.shell.streams.terminal import is_live_terminal
from motet.interfaces.cli.shell.streams.visible import echo_note
from motet.interfaces.cli.train.auto import run_tuned
from motet.interfaces.cli.train.cluster_start import ClusterStart
from motet.interfaces.cli.train.interrupted_run import InterruptedRun
from motet.interfaces.cli.train.request import TrainFlags, TrainRequest, check_request
from motet.interfaces.cli.train.results import (
    role_counts_text,
    title_of,
    training_document,
    write_results,
)
from motet.interfaces.cli.train.run_folder import choose_folder, starts_over
from motet.report.rendering.json_text import to_json
from motet.report.rendering.palette import QUIET_STYLE, job_colour
from motet.report.rendering.quantities import count_text
from motet.report.training.auto_summary import configurations_table
from motet.report.training.folder import RunFolder
from motet.report.training.loss_file import LossFile
from motet.report.training.record import RunRecord
from motet.report.training.summary import train_summary
from motet.runtime.autotune.history import TuningHistory
from motet.runtime.autotune.load_balancer import LoadBalancer
from motet.runtime.blas_threads import one_blas_thread
from motet.runtime.controller.checkpoints.folder_lock import locked_folder
from motet.runtime.controller.job import Job
from motet.runtime.controller.job_plan import JobPlan, plan_job
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.reports import TrainResult
from motet.runtime.elastic.replacement import usable_machines
from motet.runtime.executor.application_fault import told_faults

COLOUR = job_colour(0)


@dataclass(frozen=True)
class _Begun:
    """When a command began, and where it writes. `began_s`: by `time.perf_counter`."""

    began_s: float
    started_at: datetime
    folder: RunFolder | None


@one_blas_thread()
def run_training(flags: TrainFlags, start: ClusterStart, began_s: float) -> None:
    """Train as the flags say and print the result. Raises MotetError.

    `start`: that the command has begun. `began_s`: start of the command, by `time.perf_counter`.
    """
    started_at = datetime.now(UTC)
    folder = choose_folder(flags.out, flags.resume, flags.overwrite)
    console = SafeConsole(stderr=True)
    with (
        nullcontext() if folder is None else locked_folder(folder.path),
        redirect_stdout(sys.stderr),  # What the application prints is not part of the result.
        _log(flags, folder, console) as log,
        _progress(flags, log, console) as progress,
    ):
        training = check_request(flags, folder, progress)
        _begin(flags, folder, log)
        training, result, history = _train(
            flags, training, start, progress, _Begun(began_s, started_at, folder)
        )
        progress.preparing("evaluating")
        document = training_document(flags, training, result, history)
        if folder is not None:
            progress.preparing(f"writing {folder.path}")
            record = RunRecord.of(
                "finished",
                sys.argv,
                started_at,
                plan_job(training.app, training.rows, training.options),
                training.options,
                training.data,
            )
            write_results(folder, training, result, document, record, forget_interruption)
            if history is not None:
                folder.write_tuning_history(history, title_of(document), training.data.counts)
    if flags.as_json:
        sys.stdout.write(to_json(document.as_dict()))
    else:
        print_result(train_summary(document, flags.out, COLOUR, progress.startup_s(began_s)))
        if history is not None:
            print_result(configurations_table(history))


def _begin(flags: TrainFlags, folder: RunFolder | None, log: RunLog) -> None:
    """Clear the folder if it is to be overwritten, and open the log."""
    if folder is not None and flags.overwrite:
        folder.clear()
    log.begin()
    if starts_over(folder, flags.resume):
        log.remark(f"no checkpoint in {flags.out} yet; training from the beginning")


def _log(flags: TrainFlags, folder: RunFolder | None, console: Console) -> RunLog:
    """The log. It echoes lines unless a live screen shows them, and remarks; nothing with -q."""
    return RunLog(
        None if folder is None else folder.log_file,
        echo=no_echo if flags.quiet or _is_live(flags) else _to_stderr,
        echo_remark=no_echo
        if flags.quiet
        else lambda text: console.print(text, style=QUIET_STYLE, soft_wrap=True),
    )


def _is_live(flags: TrainFlags) -> bool:
    return is_live_terminal(sys.stderr) and not (flags.quiet or flags.verbose)


@contextmanager
def _progress(flags: TrainFlags, log: RunLog, console: Console) -> Iterator[LineProgress]:
    """Progress on stderr: live on a terminal, lines elsewhere or with -v, nothing with -q."""
    progress = LineProgress(log, 0.0 if flags.verbose else LINE_EVERY_S)
    if not _is_live(flags):
        yield progress
        return
    title = f"{flags.app} on {Path(flags.data).name}"
    with live(LiveTrain(progress, title, COLOUR), console):
        yield progress


def _to_stderr(text: str) -> None:
    echo_note(text)


def _train(
    flags: TrainFlags,
    training: TrainRequest,
    cluster_start: ClusterStart,
    progress: LineProgress,
    begun: _Begun,
) -> tuple[TrainRequest, TrainResult, TuningHistory | None]:
    """Train on a cluster; the request with the options of the start, result, tuning history."""
    if begun.folder is not None:
        prepare_interruption(_hint(training.options, begun.folder), {})
    progress.preparing(_start_of_cluster(flags))
    before_s = 0.0 if training.resumed is None else training.resumed.spent_s
    options = training.options
    start = flags.auto_start
    machines = start.most_machines if flags.auto else options.machines
    at_least = start.least_machines if flags.auto else None
    with cluster_start.cluster(machines, at_least) as cluster:
        if flags.auto:
            options = start.on(cluster, options, training.most_workers)
            progress.preparing(
                f"beginning with {role_counts_text(options.workers, options.servers)}"
            )
        options = replace(options, spent_s=before_s + time.perf_counter() - begun.began_s)
        training = replace(training, options=options)
        timetable = tuple(
            change.timed(lambda: usable_machines(cluster.machines())) for change in training.changes
        )
        job = Job(training.app, training.rows, options, cluster, timetable=timetable)
        interrupted = None
        if begun.folder is not None:  # Before `progress`: the files hold what the screen says.
            earlier = () if training.resumed is None else training.resumed.reports
            job.listen(LossFile(begun.folder, earlier))
            interrupted = _interrupted_run(training, job.plan, begun.folder, begun.started_at)
            job.listen(interrupted)
        job.listen(progress)
        if flags.balances:
            job.listen(LoadBalancer(job))
        result, history = _run(job, flags, progress, interrupted)
    if job.missed_plans:
        progress.remark(
            f"training ended before {count_text(job.missed_plans, 'reconfiguration')} of "
            f"{flags.reconfigure} began"
        )
    return training, result, history


def _run(
    job: Job, flags: TrainFlags, progress: LineProgress, interrupted: InterruptedRun | None
) -> tuple[TrainResult, TuningHistory | None]:
    try:
        with told_faults(job.plan.app):
            if not flags.auto:
                return job.run(), None
            return run_tuned(
                job, progress, (lambda history: None) if interrupted is None else interrupted.tuned
            )
    except Exception:
        if interrupted is not None:
            interrupted.failed()
        raise


def _interrupted_run(
    training: TrainRequest, plan: JobPlan, folder: RunFolder, started_at: datetime
) -> InterruptedRun:
    """Ctrl-C and failures leave run.json with their state; Ctrl-C prints how to continue."""
    record = RunRecord.of(
        "interrupted", sys.argv, started_at, plan, training.options, training.data
    )
    hint = _hint(training.options, folder)
    return InterruptedRun(folder, training, record, partial(prepare_interruption, hint))


def _hint(options: TrainOptions, folder: RunFolder) -> Hint:
    """How an interrupted run goes on."""
    words = [word for word in sys.argv[1:] if word not in ("--overwrite", "--resume")]
    command = f"motet {shlex.join([*words, '--resume'])}"
    every = count_text(options.checkpoint_every, "epoch")
    unsaved = f"no checkpoint was written yet (one every {every}); begin again with: {command}"
    saved = str(folder.checkpoint_folder.absolute() / "epoch-*")
    return Hint(f"continue with: {command}", saved, unsaved)


def _start_of_cluster(flags: TrainFlags) -> str:
    if flags.address is not None:
        return f"joining {flags.address}"
    return "starting Ray" if flags.ray else "starting executors"
