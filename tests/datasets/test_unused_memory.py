"""Freed memory between objects that stay goes back to the system."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from motet.datasets.unused_memory import return_unused_memory

_ARRAYS, _NUMBERS = 400, 12_000  # Of 96 kB, less than what the C library returns by itself.


def test_freed_arrays_between_others_go_back_to_the_system() -> None:
    arrays = [np.ones(_NUMBERS) for _ in range(_ARRAYS)]
    stay = arrays[::8]
    freed = sum(each.nbytes for each in arrays) - sum(each.nbytes for each in stay)
    del arrays
    before = _anonymous_bytes()
    return_unused_memory()
    assert before - _anonymous_bytes() > freed / 2
    assert all(each.sum() == _NUMBERS for each in stay)


def _anonymous_bytes() -> int:
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Anonymous:"))
