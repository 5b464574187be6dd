"""Checks the options of `motet train` and reads the data, before executors are started."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from motet.apps import load_application
from motet.apps.estimator import Estimator
from motet.datasets import Dataset, open_dataset
from motet.datasets.builtin.catalogue import is_known
from motet.datasets.facts import DatasetFacts
from motet.datasets.formats.recognition import format_called
from motet.domain.errors import BadInput
from motet.interfaces.cli.screens.train import LineProgress
from motet.interfaces.cli.train.address import require_listener
from motet.interfaces.cli.train.auto import AutoStart, require_drivable
from motet.interfaces.cli.train.cluster_shape import ClusterShape
from motet.interfaces.cli.train.memory_check import require_model_memory
from motet.interfaces.cli.train.reconfigure_file import PlannedChange, check_changes, read_plan_file
from motet.interfaces.training_settings.held_out_metrics import (
    held_out_metrics,
    rehearse_held_out_metrics,
)
from motet.interfaces.training_settings.settings import (
    Settings,
    default_epochs,
    read_training_settings,
)
from motet.interfaces.training_settings.spill_lenders import DISK, spill_lenders
from motet.report.training.folder import RunFolder
from motet.runtime.controller.checkpoints.checkpoint import Checkpoint
from motet.runtime.controller.checkpoints.folder import CheckpointFolder
from motet.runtime.controller.checkpoints.identity import JobIdentity, identity_of
from motet.runtime.controller.job_plan import most_workers, plan_job
from motet.runtime.core.convergence import has_converged
from motet.runtime.core.options import (
    DEFAULT_LOST_AFTER_S,
    SpillOptions,
    StopRule,
    Stragglers,
    TrainOptions,
)
from motet.runtime.core.reporting.reports import TrainResult, last_residual
from motet.runtime.core.rows import Rows
from motet.runtime.executor.application_fault import told_faults


@dataclass(frozen=True)
class TrainFlags:
    """The options of `motet train` as parsed by click.

    `leaves_surplus`: of more workers than there are data blocks, some stay without work; by default
    that is an error.
    """

    app: str
    data: str
    format_name: str | None = None
    test: str | None = None
    exclude: str | None = None
    columns: Sequence[str] | Mapping[str, str | int] = ()
    stop_words: str | None = None
    target: str | None = None
    drop: Sequence[str] = ()
    na: str | None = None
    labels: str | None = None
    test_labels: str | None = None
    machines: int | None = None
    workers: int | None = None
    servers: int | None = None
    address: str | None = None
    ray: bool = False
    port: int = 0
    epochs: int | None = None
    until: str | None = None
    settings: Sequence[str] = ()
    seed: int = 0
    checkpoint_every: int | None = None
    reconfigure: Path | None = None
    auto: bool = False
    stragglers: Stragglers = "ignore"
    leaves_surplus: bool = False
    lost_after: float = DEFAULT_LOST_AFTER_S
    spill: str | None = None
    spill_dir: Path | None = None
    spill_to: str = DISK
    spill_secret: Path | None = None
    resume: bool = False
    overwrite: bool = False
    out: Path | None = None
    as_json: bool = False
    quiet: bool = False
    verbose: bool = False

    @property
    def balances(self) -> bool:
        """Whether data moves away from slow workers; not if a plan or the autotuner moves it."""
        return self.stragglers == "help" and not self.auto and self.reconfigure is None

    @property
    def auto_start(self) -> AutoStart:
        """The first configuration of a job with `--auto`."""
        return AutoStart(self.machines, self.workers, self.servers, self.address is None)


@dataclass(frozen=True)
class TrainRequest:
    """A checked request: application with parameters, options, data.

    `resumed`: checkpoint from which training continues. `changes`: planned reconfigurations.
    `most_workers`: number of data blocks; further workers would have no data.
    """

    app: Estimator
    options: TrainOptions
    data: DatasetFacts
    test: Dataset | None
    rows: Rows
    resumed: Checkpoint | None
    changes: tuple[PlannedChange, ...] = ()
    most_workers: int = 1


def check_request(
    flags: TrainFlags, folder: RunFolder | None, progress: LineProgress
) -> TrainRequest:
    """Check the options, then read and check the data. Raises BadInput."""
    settings = read_training_settings(load_application(flags.app), flags.settings)
    if flags.test is not None:
        settings.app.require_testable("--test")
    if flags.auto:
        require_drivable(flags.reconfigure, settings.consistency)
    options = _options(flags, settings, folder)
    progress.epochs = options.epochs
    changes = _planned_changes(flags, options)
    _require_free_port(flags.port)
    if flags.address is not None:
        _require_one_cluster(flags)
        require_listener(flags.address)
    _require_meaningful_format(flags)
    progress.preparing(f"reading {flags.data}")
    dataset, test = _datasets(flags, settings.app.dataset_kind)
    for data in (dataset, *([] if test is None else [test])):
        for note in data.notes:
            progress.remark(f"{data.source}: {note}")
    app = settings.app.set_run(options.epochs, options.seed)
    with told_faults(app, BadInput):
        rows = app.prepared(dataset, options.seed)
    rehearse_held_out_metrics(app, test, rows, options.seed)
    if flags.leaves_surplus:
        workers = min(options.workers, most_workers(app, rows, options))
        options = replace(options, workers=workers)
    plan = plan_job(app, rows, options)
    layouts = check_changes(changes, plan.first_layout, options.machines)
    workers = max(len(layout.workers) for layout in layouts)
    servers = min(len(layout.servers) for layout in layouts)
    require_model_memory(app.model_table(), workers, flags.address is None, servers)
    job = identity_of(plan, rows, options.seed)
    resumed = _resumed(job, options, progress) if flags.resume else None
    if resumed is not None and resumed.epoch_count == options.epochs:
        progress.remark(
            f"nothing is left to train: the checkpoint already has {options.epochs} epochs; "
            "raise --epochs to train on"
        )
    elif resumed is not None and has_converged(last_residual(resumed.reports), options.tol):
        progress.remark(
            f"nothing is left to train: training had converged after {resumed.epoch_count} "
            f"epochs (tol={options.tol:g}); set a smaller tol to train on"
        )
    # Executors get their parts of `rows`; the data set itself would double the memory.
    facts = DatasetFacts.of(dataset, with_sha256=folder is not None)
    return TrainRequest(
        app, options, facts, test, rows, resumed, changes, plan.schedule.block_count
    )


def _require_one_cluster(flags: TrainFlags) -> None:
    if flags.ray:
        raise BadInput("--ray starts a Ray of its own, --address joins one; leave one of them out")


def more_metrics(
    app: Estimator,
    data: DatasetFacts,
    test: Dataset | None,
    result: TrainResult,
    *,
    may_resume: bool = False,
) -> dict[str, float]:
    """Metrics beside those of the application: held-out metrics, tokens per second."""
    metrics = held_out_metrics(app, test, may_resume=may_resume)
    if data.token_count is not None:
        seconds = sum(report.wall_s for report in result.epochs)
        metrics["tokens_per_s"] = data.token_count * len(result.epochs) / seconds
    return metrics


def _options(flags: TrainFlags, settings: Settings, folder: RunFolder | None) -> TrainOptions:
    shape = (
        flags.auto_start.shape
        if flags.auto
        else ClusterShape.of(flags.machines, flags.workers, flags.servers)
    )
    return TrainOptions(
        machines=shape.machines,
        workers=shape.workers,
        servers=shape.servers,
        epochs=default_epochs(type(settings.app)) if flags.epochs is None else flags.epochs,
        seed=_seed(flags.seed),
        consistency=settings.consistency,
        worker_batch_size=settings.worker_batch_size,
        until=None if flags.until is None else StopRule.parse(flags.until),
        checkpoint_every=(
            settings.checkpoint_every if flags.checkpoint_every is None else flags.checkpoint_every
        ),
        checkpoint_dir=None if folder is None else folder.checkpoint_folder,
        resume=flags.resume,
        port=flags.port,
        tol=settings.app.tol,
        stragglers=flags.stragglers,
        lost_after_s=flags.lost_after,
        spill=_spill(flags),
    )


def _spill(flags: TrainFlags) -> SpillOptions | None:
    if flags.spill is None:
        if flags.spill_dir is not None:
            raise BadInput("--spill-dir is for data on disk; give --spill SHARE, too")
        if flags.spill_to != DISK or flags.spill_secret is not None:
            raise BadInput("--spill-to says where spilled data go; give --spill SHARE, too")
        return None
    lenders = spill_lenders(flags.spill_to, flags.spill_secret)
    return SpillOptions.parse(flags.spill, flags.spill_dir, lenders)


def _resumed(job: JobIdentity, options: TrainOptions, progress: LineProgress) -> Checkpoint | None:
    """The newest whole checkpoint; a remark about every damaged one that is passed over.

    Raises BadInput if it is of another job or has too many epochs, or if none is whole.
    """
    assert options.checkpoint_dir is not None
    return CheckpointFolder(options.checkpoint_dir, job).to_resume(options.epochs, progress.remark)


def _planned_changes(flags: TrainFlags, options: TrainOptions) -> tuple[PlannedChange, ...]:
    if flags.reconfigure is None:
        return ()
    return read_plan_file(flags.reconfigure, options.machines, options.epochs)


def _seed(seed: int) -> int:
    if seed < 0:
        raise BadInput(f"--seed {seed}: must be 0 or more")
    return seed


def _datasets(flags: TrainFlags, kind: str) -> tuple[Dataset, Dataset | None]:
    """Training data, and held-out data with the same numbering."""
    read = partial(
        open_dataset,
        kind=kind,
        format=flags.format_name,
        target=flags.target,
        drop=flags.drop,
        na=flags.na,
        columns=flags.columns,
        stop_words=flags.stop_words,
    )
    dataset = read(flags.data, exclude=flags.exclude, labels=flags.labels)
    if flags.test is None:
        return dataset, None
    test = read(flags.test, labels=flags.test_labels, role="test")
    return dataset, test.reindexed_like(dataset)


def _require_meaningful_format(flags: TrainFlags) -> None:
    """Raises BadInput for a format of built-in data, which would be ignored."""
    if flags.format_name is None:
        return
    format_called(flags.format_name)
    sources = [source for source in (flags.data, flags.test, flags.exclude) if source is not None]
    if all(map(is_known, sources)):
        raise BadInput(
            f"{flags.data}: --format does not apply to {flags.data.partition(':')[0]} data; "
            "leave it out"
        )


def _require_free_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError as error:
            raise BadInput(
                f"--port {port}: cannot listen there ({error.strerror}); "
                "choose another port, or leave --port out for any free one"
            ) from error
