"""Keeps open pages current with what the lenders of the cluster say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from motet.live.lent_memory.cluster_memory import MemoryStatus

_NOTED_BYTES = 1 << 28


class LendingWatch:
    """Used by one thread."""

    def __init__(self, changed: Callable[[], None]) -> None:
        """`changed`: called when pages would show something else, but for steps."""
        self._changed = changed
        self._shown: Any = None

    def seen(self, status: MemoryStatus) -> None:
        """What the lenders say now."""
        shown = _shown_figures(status)
        if shown != self._shown:
            self._shown = shown
            self._changed()


def _shown_figures(status: MemoryStatus) -> Any:
    """What a reader would notice; memory in use in steps."""
    return [
        (
            each.number,
            each.failure,
            view
            and (
                *(view.free_slabs, view.evicting_slabs, view.evicted, view.revoked),
                *(view.used_bytes // _NOTED_BYTES, view.requested_bytes // _NOTED_BYTES),
                dict(view.clients),
            ),
        )
        for each in status.lenders
        for view in (each.view,)
    ]
