"""Kernels that are called by other kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])
_OPTIONS: dict[str, Any] = {"cache": True, "_nrt": False}


def uncounted(function: F) -> F:
    """Compile a function that allocates no arrays, without counting references to those that it
    gets.

    It may call such functions only: Numba compiles those that it calls in the same way, and keeps
    them. Otherwise every call counts each array of its tuples up and down, which takes ten times as
    long as the work of a short function.
    """
    compiled: F = njit(**_OPTIONS)(function)
    return compiled
