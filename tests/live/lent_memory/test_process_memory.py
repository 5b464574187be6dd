"""Memory of real processes, by the folders of their attempts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from motet.live.lent_memory.process_memory import used_by_processes

SIZE = 32 << 20
PROGRAM = f"""
open("/proc/self/comm", "wb").write(b"half \\xc3")  # A name is cut after 15 bytes.
held = b"x" * {SIZE}
print("ready", flush=True)
input()
"""


def test_the_memory_of_a_process_and_its_children_counts_for_its_folder(tmp_path: Path) -> None:
    environment = {**os.environ, "MOTET_ATTEMPT": str(tmp_path), "MOTET_RANK": "3"}
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {PROGRAM!r}])"
    with subprocess.Popen(
        [sys.executable, "-c", parent],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "ready\n"
        name, other = str(tmp_path / "rank-3"), str(tmp_path / "rank-0")
        used = used_by_processes([name, other])
        process.stdin.write("\n")
        process.stdin.close()
    assert SIZE < used[name] < 4 * SIZE
    assert other not in used
    assert dict(used_by_processes([name])) == {}
