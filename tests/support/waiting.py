"""Waits for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable

LOOK_S = 0.02


def wait_until(is_true: Callable[[], object], timeout_s: float = 300.0) -> None:
    """Look until the claim holds. The limit only ends a test that would hang."""
    ends = time.monotonic() + timeout_s
    while not is_true():
        if time.monotonic() > ends:
            raise TimeoutError(f"not within {timeout_s} s")
        time.sleep(LOOK_S)
