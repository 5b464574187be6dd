"""The part of the model's rows that a worker needs in a mini-batch, by its share of the data."""

from __future__ import annotations

import numpy as np

from motet.domain.arrays import Ints
from motet.runtime.core.application import Application
from motet.runtime.core.rows import Rows
from motet.runtime.core.schedule import Schedule

_SAMPLED_BATCHES = 3
_LEAST_SHARE, _LEAST_PART = 1 / 64, 1e-3


def touched_parts(
    app: Application, rows: Rows, schedule: Schedule
) -> tuple[tuple[float, float], ...]:
    """`Profile.touched`: sampled from a few mini-batches, for 1, 2, 4, ... data blocks.

    Empty if every worker pulls the whole model.
    """
    counts, order = _block_counts(schedule.block_count), schedule.deal()
    sums = np.zeros(len(counts))
    for batch in _sampled(schedule.batch_count):
        positions = np.arange(*schedule.batch_bounds(batch))
        for place, count in enumerate(counts):
            instances = order[positions[positions % schedule.block_count < count]]
            touched = _touched_rows(app, rows, instances)
            if touched is None:
                return ()
            sums[place] += touched
    # More data touch no fewer rows; small samples may say otherwise.
    parts = np.maximum.accumulate(np.maximum(sums / max(sums[-1], 1.0), _LEAST_PART))
    shares = [count / schedule.block_count for count in counts]
    return tuple(zip(shares, parts.tolist(), strict=True))


def _block_counts(blocks: int) -> list[int]:
    """1, 2, 4, ... and all blocks, without shares that are too small to sample."""
    counts = [1]
    while counts[-1] < blocks:
        counts.append(min(2 * counts[-1], blocks))
    return [count for count in counts if count >= _LEAST_SHARE * blocks]


def _sampled(batch_count: int) -> list[int]:
    """Mini-batches at even distances."""
    numbers = np.linspace(0, batch_count - 1, _SAMPLED_BATCHES).astype(int)
    return [*dict.fromkeys(numbers.tolist())]


def _touched_rows(app: Application, rows: Rows, instances: Ints) -> int | None:
    """Rows of the model that these instances need; None: all of them."""
    if len(instances) == 0:
        return 0
    keys = app.make_batch(rows.take(instances)).keys
    return None if keys is None else len(keys)
