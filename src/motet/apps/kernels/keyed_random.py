"""Random numbers that depend on the instance, not on the process that computes it.

A number is a hash of (seed, stream, id, position): the same for any number of workers, in any
order. The hash is SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number
Generators", 2014).

These functions make whole arrays by NumPy, for what is drawn once. Kernels draw number after number
with `keyed_stream`; a process without kernels does not load Numba, which takes half a second.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motet.domain.arrays import Floats

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""The difference between two states that follow each other in a stream."""
TO_UNIT = 1.0 / (1 << 53)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def scrambled(states: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's output function: every bit of the result depends on every bit of its state."""
    states = (states ^ (states >> np.uint64(30))) * _FIRST
    states = (states ^ (states >> np.uint64(27))) * _SECOND
    return states ^ (states >> np.uint64(31))


def stream_starts(seed: int, stream: int, keys: NDArray[np.int64]) -> NDArray[np.uint64]:
    """`(len(keys),)`: the first state of the random numbers of (seed, stream, key)."""
    state = scrambled(np.array([seed], np.uint64) + GOLDEN)
    state = scrambled(state + np.array([stream], np.uint64) * GOLDEN)
    return scrambled(state + keys.astype(np.uint64) * GOLDEN)


def unit_floats(states: NDArray[np.uint64]) -> Floats:
    """The states' random numbers in [0, 1)."""
    numbers: Floats = np.multiply(scrambled(states) >> np.uint64(11), TO_UNIT)
    return numbers


def uniform_rows(seed: int, stream: int, keys: NDArray[np.int64], width: int) -> Floats:
    """`(len(keys), width)` numbers in [0, 1); row i depends on (seed, stream, keys[i])."""
    steps = np.arange(1, width + 1, dtype=np.uint64) * GOLDEN
    return unit_floats(stream_starts(seed, stream, keys)[:, None] + steps)
