"""Random numbers that depend on the instance, not on the process that computes it.

A number is a hash of (seed, stream, id, position): the same for any number of workers, in any
order. The hash is SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number
Generators", 2014).
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_TO_UNIT = 1.0 / (1 << 53)


@njit(cache=True, nogil=True, inline="always")
def scramble(state: np.uint64) -> np.uint64:
    """SplitMix64's output function: every bit of the result depends on every bit of `state`."""
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    return state ^ (state >> np.uint64(31))


@njit(cache=True, nogil=True)
def stream_start(seed: int, stream: int, key: int) -> np.uint64:
    """Return the first state of the random numbers of (seed, stream, key)."""
    state = scramble(np.uint64(seed) + _GOLDEN)
    state = scramble(state + np.uint64(stream) * _GOLDEN)
    return scramble(state + np.uint64(key) * _GOLDEN)


@njit(cache=True, nogil=True, inline="always")
def next_state(state: np.uint64) -> np.uint64:
    """Return the state after one random number."""
    return state + _GOLDEN


@njit(cache=True, nogil=True, inline="always")
def unit_float(state: np.uint64) -> float:
    """Return the state's random number in [0, 1)."""
    return (scramble(state) >> np.uint64(11)) * _TO_UNIT


@njit(cache=True, nogil=True)
def uniform_rows(
    seed: int, stream: int, keys: NDArray[np.int64], width: int
) -> NDArray[np.float64]:
    """Return `(len(keys), width)` numbers in [0, 1); row i depends on (seed, stream, keys[i])."""
    numbers = np.empty((len(keys), width))
    for row in range(len(keys)):
        state = stream_start(seed, stream, keys[row])
        for column in range(width):
            state = next_state(state)
            numbers[row, column] = unit_float(state)
    return numbers
