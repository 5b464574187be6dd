"""What the server does with each view of its pool: learns models, and keeps open pages current."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from motet.aggregation.wire.pool_views import PoolView
from motet.live.shared_pool.model_sizes import ModelSizes


class PoolWatch:
    """Used by one thread."""

    def __init__(self, sizes: ModelSizes, changed: Callable[[], None]) -> None:
        """`changed`: called when pages would show something else, but for steps."""
        self._sizes, self._changed = sizes, changed
        self._shown: Any = None

    def seen(self, view: PoolView, jobs: Mapping[str, int]) -> None:
        """`jobs`: ids by their names in the pool."""
        self._sizes.seen(view, jobs)
        shown = shown_figures(view)
        if shown != self._shown:
            self._shown = shown
            self._changed()


def shown_figures(view: PoolView) -> Any:
    """What a reader would notice; shares in hundredths."""
    aggregators = [
        (each.number, each.is_running, each.tensors, each.replicas, round(each.used_share, 2))
        for each in view.aggregators
    ]
    jobs = [
        (each.name, each.phase, each.workers, each.aggregators, round(each.measured_loss or 0.0, 2))
        for each in view.jobs
    ]
    return aggregators, jobs
