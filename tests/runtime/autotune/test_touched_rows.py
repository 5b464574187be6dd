"""Which part of the model's rows a worker needs, by its share of the data."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from motet.runtime.autotune.touched_rows import touched_parts
from motet.runtime.core.schedule import Schedule
from toy_app import ToyRegression


def test_a_smaller_share_needs_fewer_rows_but_more_than_in_proportion() -> None:
    app = ToyRegression(features=200, batch_size=100, sparse=True)
    rows = app.prepare(None, seed=1)
    parts = touched_parts(app, rows, Schedule.of(len(rows), 100, 96, seed=0))
    assert parts[-1] == (1.0, 1.0)
    assert all(low < high for (low, _), (high, _) in pairwise(parts))
    assert all(low <= high for (_, low), (_, high) in pairwise(parts))
    assert all(part >= 0.9 * share for share, part in parts)
    assert parts[0][1] < 0.5


def test_it_is_what_workers_really_need() -> None:
    app = ToyRegression(features=200, batch_size=203, sparse=True)
    rows = app.prepare(None, seed=1)
    schedule = Schedule.of(len(rows), 203, 96, seed=0)
    parts = dict(touched_parts(app, rows, schedule))
    mine = schedule.deal()[np.arange(203) % 96 < 32]
    needed = len(app.make_batch(rows.take(mine)).keys) / len(app.make_batch(rows).keys)
    assert abs(parts[32 / 96] - needed) < 0.02


def test_where_everybody_pulls_everything_there_is_nothing_to_tell() -> None:
    app = ToyRegression()
    rows = app.prepare(None, seed=1)
    assert touched_parts(app, rows, Schedule.of(len(rows), 20, 96, seed=0)) == ()
