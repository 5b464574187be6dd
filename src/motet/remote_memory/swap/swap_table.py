"""The kernel's table of swap spaces (/proc/swaps). Pure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SWAP_TABLE = Path("/proc/swaps")
_REMOVED = r"\040(deleted)"


@dataclass(frozen=True)
class SwapUse:
    """One swap space. `path`: its block device."""

    path: str
    size_bytes: int
    used_bytes: int
    priority: int


def swap_uses(table: str) -> dict[str, SwapUse]:
    """By path."""
    found = {}
    for line in table.splitlines()[1:]:
        path, _, size, used, priority = line.split()
        path = path.removesuffix(_REMOVED)
        found[path] = SwapUse(path, int(size) << 10, int(used) << 10, int(priority))
    return found
