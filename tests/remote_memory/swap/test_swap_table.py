"""The kernel's table of swap spaces."""

from __future__ import annotations

from pathlib import Path

from motet.remote_memory.swap.swap_table import SwapUse, swap_uses

TABLE = (
    "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
    "/dev/loop0                              partition\t524284\t\t1024\t\t10\n"
    "/dev/nbd1\\040(deleted)                 partition\t4\t\t0\t\t-2\n"
)


def test_each_swap_space_is_known_by_its_path() -> None:
    assert swap_uses(TABLE) == {
        "/dev/loop0": SwapUse("/dev/loop0", 524284 << 10, 1 << 20, 10),
        "/dev/nbd1": SwapUse("/dev/nbd1", 4096, 0, -2),
    }


def test_a_host_without_swap_space_has_none() -> None:
    assert swap_uses(TABLE.splitlines()[0]) == {}
    assert isinstance(swap_uses(Path("/proc/swaps").read_text(encoding="utf-8")), dict)
