"""Waits for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

_SHORTEST_S, _LONGEST_S, _GROWTH = 0.01, 0.25, 1.3


def wait_until(is_true: Callable[[], object], timeout_s: float = 300.0) -> None:
    """Look until the claim holds. The limit only ends a test that would hang."""
    ends = time.monotonic() + timeout_s
    pauses = growing_pauses()
    while not is_true():
        if time.monotonic() > ends:
            raise TimeoutError(f"not within {timeout_s} s")
        time.sleep(next(pauses))


def growing_pauses() -> Iterator[float]:
    """Seconds between two looks: a long wait must not take CPU time from what it waits for."""
    pause_s = _SHORTEST_S
    while True:
        yield pause_s
        pause_s = min(_LONGEST_S, pause_s * _GROWTH)
