"""The random numbers of `keyed_random` for compiled loops, one after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from motet.apps.kernels.keyed_random import GOLDEN, TO_UNIT, scrambled
from motet.transport.native.compiled import njit

_compiled = njit(cache=True, nogil=True, inline="always")
scramble = cast("Callable[[np.uint64], np.uint64]", _compiled(scrambled))
"""`scrambled` for one state."""


@njit(cache=True, nogil=True)
def stream_start(seed: int, stream: int, key: int) -> np.uint64:
    """Return the first state of the random numbers of (seed, stream, key)."""
    state = scramble(np.uint64(seed) + GOLDEN)
    state = scramble(state + np.uint64(stream) * GOLDEN)
    return scramble(state + np.uint64(key) * GOLDEN)


@njit(cache=True, nogil=True, inline="always")
def next_state(state: np.uint64) -> np.uint64:
    """Return the state after one random number."""
    return state + GOLDEN


@njit(cache=True, nogil=True, inline="always")
def unit_float(state: np.uint64) -> float:
    """Return the state's random number in [0, 1)."""
    return (scramble(state) >> np.uint64(11)) * TO_UNIT
