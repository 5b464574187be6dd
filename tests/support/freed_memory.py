"""Memory that the C library keeps after it was freed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from motet.domain.arrays import Floats

_ARRAYS, _NUMBERS = 400, 12_000  # Of 96 kB, less than what the C library returns by itself.


def arrays_between_freed_ones() -> tuple[list[Floats], int]:
    """Arrays of ones, and the bytes of others that were freed between them."""
    arrays = [np.ones(_NUMBERS) for _ in range(_ARRAYS)]
    stay = arrays[::8]
    freed = sum(each.nbytes for each in arrays) - sum(each.nbytes for each in stay)
    return stay, freed


def anonymous_bytes() -> int:
    """Anonymous memory of this process."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Anonymous:"))
