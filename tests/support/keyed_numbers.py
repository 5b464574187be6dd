"""Random numbers by (seed, stream, key): SplitMix64 in Python's own integers."""

from __future__ import annotations

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def keyed_numbers(seed: int, stream: int, key: int, count: int) -> list[float]:
    """The first numbers in [0, 1) of a key."""
    state = 0
    for part in (seed + _GOLDEN, stream * _GOLDEN, key * _GOLDEN):
        state = _hash((state + part) & _MASK)
    states = [(state + step * _GOLDEN) & _MASK for step in range(1, count + 1)]
    return [(_hash(each) >> 11) / (1 << 53) for each in states]


def _hash(state: int) -> int:
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB & _MASK
    return state ^ (state >> 31)
