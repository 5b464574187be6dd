"""Checks that a training run fits into memory before it allocates large arrays.

Without the check, the system kills the process minutes later without a message. The numbers of
simultaneous copies of arrays were measured with tracemalloc.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from motet.domain.errors import BadArgument

ROW_COPIES = 4
"""Instances exist as prepared, cut into blocks, joined to a worker's share, and in its order."""
FEATURE_COPIES = 3
"""As above for features, but after a cut the trained copy may already have been released."""
MODEL_COPIES = 4
"""Values at the start and in training, the pulled ones, and the sum of deltas."""
OWN_DELTA_COPIES = MODEL_COPIES - 1
"""As above for an application that computes its values in the array of the delta."""

_FLOAT64_BYTES = 8
_SURELY_THERE_BYTES = 64_000_000
_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
_CGROUP_USED = Path("/sys/fs/cgroup/memory.current")


def float64_bytes(*shape: int, copies: int = 1) -> int:
    """Return the bytes of arrays of this shape."""
    return copies * _FLOAT64_BYTES * math.prod(map(int, shape))


def require_memory(
    subject: str, needs: Mapping[str, int], mend: str, free_bytes: int | None = None
) -> None:
    """Raise BadInput if the sum of `needs` (bytes by purpose) exceeds the free memory.

    `subject`: the application and its parameters ("nmf: rank=16"); `mend`: the remedy.
    `free_bytes`: None reads it from the system.
    """
    needed = sum(needs.values())
    if free_bytes is None:
        free_bytes = _SURELY_THERE_BYTES if needed <= _SURELY_THERE_BYTES else free_memory_bytes()
    if needed > free_bytes:
        parts = ", ".join(f"{_text(count)} for {what}" for what, count in needs.items())
        raise BadArgument(
            f"{subject} needs about {_text(needed)} of memory ({parts}), "
            f"{_text(free_bytes)} is free; {mend}"
        )


def free_memory_bytes() -> int:
    """Return the free memory of the machine, or of this container if that is less."""
    import psutil

    available = int(psutil.virtual_memory().available)
    limit = _read_count(_CGROUP_LIMIT)
    if limit is None:
        return available
    return min(available, max(0, limit - (_read_count(_CGROUP_USED) or 0)))


def _read_count(path: Path) -> int | None:
    """Return the number in a cgroup file; None for "max" or a missing file."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _text(count: int) -> str:
    for size, unit in ((1e12, "TB"), (1e9, "GB")):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count / 1e6:,.1f} MB"
