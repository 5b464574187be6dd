"""Resident memory of real processes."""

from __future__ import annotations

import subprocess
import sys

import psutil

from motet.runtime.core.process_memory import own_resident_bytes, resident_bytes

HOLDER = "import sys; held = b'x' * 100_000_000; print(len(held), flush=True); sys.stdin.read()"


def test_the_memory_of_processes_is_what_they_use_together() -> None:
    pipe = subprocess.PIPE
    holder = subprocess.Popen([sys.executable, "-c", HOLDER], stdin=pipe, stdout=pipe)
    assert holder.stdout is not None
    holder.stdout.readline()
    found = resident_bytes([holder.pid])
    assert found > 100_000_000
    assert found == psutil.Process(holder.pid).memory_info().rss
    assert resident_bytes([holder.pid, holder.pid]) == 2 * found
    holder.communicate()
    assert resident_bytes([holder.pid]) == 0


def test_this_process_uses_memory() -> None:
    assert own_resident_bytes() > 1_000_000
