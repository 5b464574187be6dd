"""Runs Python code in a child process whose memory is limited."""

from __future__ import annotations

import resource
import subprocess
import sys

# Above the address space of the interpreter, NumPy and SciPy with one thread.
LEAST_BYTES = 1_500_000_000


def run_in_little_memory(
    code: str, *arguments: object, memory_bytes: int = LEAST_BYTES
) -> subprocess.CompletedProcess[str]:
    """Run `code`; `sys.argv[1:]` are the arguments. An allocation beyond the limit fails."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PATH": ""},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes)),
    )
