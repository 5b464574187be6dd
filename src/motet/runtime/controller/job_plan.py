"""What a job consists of, whichever executors carry it, and whether its options fit together."""

from __future__ import annotations

from dataclasses import dataclass

from motet.domain.errors import BadInput
from motet.runtime.core.application import Application
from motet.runtime.core.consistency import Synchronisation
from motet.runtime.core.options import SpillOptions, TrainOptions
from motet.runtime.core.rows import Rows
from motet.runtime.core.schedule import DATA_BLOCKS, Schedule
from motet.runtime.core.table_spec import MODEL_TABLE, TableSpec, pulls_ahead
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.elastic.role_placement import RolePlacement


@dataclass(frozen=True)
class JobPlan:
    """What stays the same through all generations of a job."""

    app: Application
    roles: RolePlacement
    schedule: Schedule
    table: TableSpec
    sync: Synchronisation
    helps: bool = False
    spill: SpillOptions | None = None

    @property
    def first_layout(self) -> JobLayout:
        """The layout that a job begins with."""
        return JobLayout.even(self.roles, self.table.block_count, self.schedule.block_count)

    @property
    def overlaps(self) -> bool:
        """Whether workers communicate while they compute."""
        return pulls_ahead(self.sync, self.table)


def plan_job(app: Application, rows: Rows, options: TrainOptions) -> JobPlan:
    """How a job will be laid out. Raises BadInput for options that cannot work together.

    Needs no cluster, so a command can refuse before it starts one.
    """
    _check(app, options)
    batch_size = _batch_size(app, options)
    schedule = Schedule.of(len(rows), batch_size, DATA_BLOCKS, options.seed)
    if options.workers > schedule.block_count:
        raise BadInput(
            f"workers={options.workers}: {len(rows)} instances in mini-batches of "
            f"{batch_size or len(rows)} make {schedule.block_count} data blocks, one worker each; "
            "lower --workers or raise batch_size"
        )
    roles = RolePlacement.spread(options.machines, options.workers, options.servers)
    return JobPlan(
        app=app,
        roles=roles,
        schedule=schedule,
        table=TableSpec.of(MODEL_TABLE, app.model_table()),
        sync=Synchronisation(options.consistency, roles.workers),
        helps=options.stragglers == "help",
        spill=options.spill,
    )


def most_workers(app: Application, rows: Rows, options: TrainOptions) -> int:
    """Number of data blocks; further workers would have none."""
    return Schedule.of(len(rows), _batch_size(app, options), DATA_BLOCKS, options.seed).block_count


def _batch_size(app: Application, options: TrainOptions) -> int:
    if options.worker_batch_size is None:
        return app.batch_size
    return options.worker_batch_size * options.workers


def _check(app: Application, options: TrainOptions) -> None:
    alternative = f", or set {app.without_bsp}" if app.needs_bsp and app.without_bsp else ""
    if app.needs_bsp and not options.consistency.is_lockstep:
        raise BadInput(
            f"consistency={options.consistency.name}: {app.name} needs the sum over all workers; "
            f"use consistency=bsp{alternative}"
        )
    if options.worker_batch_size is not None and (
        alternative or "batch_size" not in app.get_params()
    ):
        raise BadInput(
            f"worker_batch_size={options.worker_batch_size}: {app.name} takes the whole "
            f"data set as one mini-batch; leave worker_batch_size out{alternative}"
        )
