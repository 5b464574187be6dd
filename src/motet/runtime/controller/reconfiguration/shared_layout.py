"""The layout that the operations of a generation change, also at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeAlias

from motet.runtime.elastic.layout import JobLayout

Edit: TypeAlias = Callable[[JobLayout], JobLayout]


class SharedLayout:
    """The present layout; every edit starts from the one before it."""

    def __init__(self, layout: JobLayout) -> None:
        self._lock = threading.Lock()
        self._layout = layout

    @property
    def now(self) -> JobLayout:
        """The present layout."""
        return self._layout

    def edit(self, edit: Edit) -> JobLayout:
        """Replace the layout by `edit` of it, which may raise; the new one."""
        with self._lock:
            self._layout = edit(self._layout)
            return self._layout
