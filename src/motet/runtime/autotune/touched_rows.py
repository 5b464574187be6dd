"""How many rows of the model a worker needs for its part of a mini-batch, by its share of it."""

from __future__ import annotations

import numpy as np

from motet.runtime.core.application import Application
from motet.runtime.core.rows import Rows
from motet.runtime.core.schedule import Schedule

_SAMPLES = 3
_LEAST_SHARE, _LEAST_PART = 1 / 64, 1e-3


def touched_parts(
    app: Application, rows: Rows, schedule: Schedule
) -> tuple[tuple[float, float], ...]:
    """`Profile.touched`: sampled from a few mini-batches and neighbouring data blocks.

    Empty where every worker pulls the whole model.
    """
    deal = schedule.deal()
    counts = [1]
    while counts[-1] < schedule.block_count:
        counts.append(min(2 * counts[-1], schedule.block_count))
    counts = [count for count in counts if count >= _LEAST_SHARE * schedule.block_count]
    sums = np.zeros(len(counts))
    batches = np.unique(np.linspace(0, schedule.batch_count - 1, _SAMPLES).astype(int)).tolist()
    for batch in batches:
        positions = np.arange(*schedule.batch_bounds(batch))
        for place, count in enumerate(counts):
            mine = positions[positions % schedule.block_count < count]
            if len(mine) == 0:
                continue
            keys = app.make_batch(rows.take(deal[mine])).keys
            if keys is None:
                return ()
            sums[place] += len(keys)
    parts = np.maximum.accumulate(np.maximum(sums / max(sums[-1], 1.0), _LEAST_PART))
    return tuple(
        (count / schedule.block_count, float(part))
        for count, part in zip(counts, parts, strict=True)
    )
