"""Open pages hear of what they would show, not of every step."""

from __future__ import annotations

from dataclasses import replace

from motet.aggregation.wire.pool_views import AggregatorView, PoolJobView, PoolView
from motet.interfaces.server.aggregation.pool_watch import PoolWatch
from motet.live.master.facts import ModelSeen
from motet.live.shared_pool.model_sizes import ModelSizes

JOB = PoolJobView(
    *(0, "run-3.1", "profiling", (0,), 1, 2, (0,), 5, 100, None, None, None, 0), 0.1, 400, 100
)
VIEW = PoolView((AggregatorView(0, True, 0, 0.0, ("run-3.1",), 2, 0, 0),), (JOB,), (), 4, 0.1)


def test_steps_alone_are_no_change() -> None:
    told: list[ModelSeen] = []
    changes: list[None] = []
    watch = PoolWatch(ModelSizes(told.append), lambda: changes.append(None))
    watch.seen(VIEW, {"run-3.1": 3})
    watch.seen(replace(VIEW, jobs=(replace(JOB, steps=9, iteration_ns=101),)), {"run-3.1": 3})
    assert (len(changes), told) == (1, [ModelSeen(3, 400, 100)])
    watch.seen(replace(VIEW, jobs=(replace(JOB, phase="placed"),)), {"run-3.1": 3})
    assert len(changes) == 2
