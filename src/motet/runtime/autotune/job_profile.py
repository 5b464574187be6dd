"""A job before it trains, in the terms of Cruise's cost model."""

from __future__ import annotations

from motet.cruise.machine_assignment import BlockBytes
from motet.estimate.epoch_cost import Profile
from motet.runtime.autotune.touched_rows import touched_parts
from motet.runtime.controller.job import Job


def cruise_profile(job: Job) -> Profile:
    """The job's instances and blocks; the bytes of an exchange are measured later.

    The batch size is that of all workers together: it does not depend on their number.
    """
    schedule = job.plan.schedule
    return Profile(
        instances=schedule.instance_count,
        batch_size=-(-schedule.instance_count // schedule.batch_count),
        exchange_bytes=0.0,
        data_blocks=schedule.block_count,
        model_blocks=job.plan.table.block_count,
        touched=touched_parts(job.plan.app, job.rows, schedule),
    )


def mean_block_bytes(job: Job) -> BlockBytes:
    """Mean bytes of a block of each table; at least one, so that every move has a cost."""
    plan = job.plan
    data_bytes = job.rows.nbytes / plan.schedule.block_count
    model_bytes = plan.table.model.nbytes / plan.table.block_count
    return BlockBytes(max(data_bytes, 1.0), max(model_bytes, 1.0))
