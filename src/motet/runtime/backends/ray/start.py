"""Starts Ray in this process's life, and notices the end of a control process meanwhile.

`ray.init` waits half a minute for a GCS that ends while it starts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future, wait
from typing import TypeVar

import psutil

from motet.runtime.backends.ray.head_watch import settle_future
from motet.runtime.controller.ports import ClusterLost

T = TypeVar("T")

_CONTROL_PROCESSES = {"gcs_server": "Ray's GCS", "raylet": "the raylet of this node"}
_LOOK_EVERY_S = 0.2


def started_ray(start: Callable[[], T]) -> T:
    """What `start()` returns, which starts Ray. Raises what it raises, or ClusterLost."""
    before = {child.pid for child in psutil.Process().children()}
    done: Future[T] = Future()

    def stay() -> None:
        settle_future(done, start)
        # The kernel kills Ray's processes at the end of the thread that started them.
        threading.Event().wait()

    threading.Thread(target=stay, name="ray-start", daemon=True).start()
    while not wait([done], _LOOK_EVERY_S).done:
        _require_alive(before)
    if done.exception() is not None:
        _require_alive(before)
    return done.result()


def _require_alive(before: Collection[int]) -> None:
    """Raises ClusterLost if a control process has ended; it stays a child until it is waited for.

    `before`: children that were there before the start.
    """
    for child in psutil.Process().children():
        try:
            name, status = child.name(), child.status()
        except psutil.NoSuchProcess:
            continue
        if (
            name in _CONTROL_PROCESSES
            and status == psutil.STATUS_ZOMBIE
            and child.pid not in before
        ):
            raise ClusterLost(
                f"{_CONTROL_PROCESSES[name]} ended while Ray was starting: it was killed, or "
                "memory ran out; run the command again"
            )
