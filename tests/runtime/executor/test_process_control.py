"""How processes end."""

from __future__ import annotations

import subprocess
import sys

ENDS = """
import atexit, sys
from motet.runtime.executor.process_control import exit_at_once
atexit.register(print, "freed")
sys.stdout.write("all")
exit_at_once(3)
"""


def test_an_exit_at_once_writes_what_is_buffered_and_does_nothing_else() -> None:
    done = subprocess.run([sys.executable, "-c", ENDS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "all", "")


def test_a_closed_stream_keeps_the_status() -> None:
    line = [sys.executable, "-c", ENDS.replace("sys.stdout.write", "str")]
    done = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&-', *line], check=False)
    assert done.returncode == 3
