"""Memory that was used and freed, and that the C library keeps."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache


def return_unused_memory() -> None:
    """Give free pages of the heap back to the system, where the C library can do that (glibc).

    Text is parsed in blocks whose arrays are smaller than those that the C library returns by
    itself, between others that stay: of MNIST as svmlight 60 MB remain. Each thread allocates from
    a heap of its own: of a model of 256 MB, sums and messages leave 100 MB in an executor.
    """
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    found: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return found
