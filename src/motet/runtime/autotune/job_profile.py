"""What is known of a job before it trains, in Cruise's terms."""

from __future__ import annotations

from motet.cruise.machine_assignment import BlockBytes
from motet.estimate.epoch_cost import Profile
from motet.runtime.autotune.touched_rows import touched_parts
from motet.runtime.controller.job import Job


def profile_of(job: Job) -> Profile:
    """Its instances and blocks. Mini-batches stay the same with any workers."""
    schedule = job.plan.schedule
    return Profile(
        instances=schedule.instance_count,
        batch_size=-(-schedule.instance_count // schedule.batch_count),
        exchange_bytes=0.0,
        data_blocks=schedule.block_count,
        model_blocks=job.plan.table.block_count,
        touched=touched_parts(job.plan.app, job.rows, schedule),
    )


def block_bytes_of(job: Job) -> BlockBytes:
    """Of a block of each table, on average."""
    plan = job.plan
    model_bytes = plan.table.model.nbytes / plan.table.block_count
    return BlockBytes(max(job.rows.nbytes / plan.schedule.block_count, 1.0), max(model_bytes, 1.0))
