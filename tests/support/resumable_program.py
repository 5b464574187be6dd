"""A job that runs for given seconds in all: preempted, it continues where it stopped."""

from __future__ import annotations

import sys
from typing import Any

_PROGRAM = """
import os, signal, sys, time
folder = os.environ["MOTET_CHECKPOINT_DIR"]
os.makedirs(folder, exist_ok=True)
path = folder + "/ran-" + os.environ["RANK"]
ran = float(open(path).read()) if os.path.exists(path) else 0.0
began = time.monotonic()

def stop(number, frame):
    with open(path, "w") as file:
        file.write(str(ran + time.monotonic() - began))
    os._exit(0)

signal.signal(signal.SIGTERM, stop)
time.sleep(max(0.0, float(sys.argv[1]) - ran))
"""


def resumable_job(seconds: float, processes: int = 1, **more: Any) -> dict[str, Any]:
    """The values of a job file."""
    run = [sys.executable, "-S", "-c", _PROGRAM, str(seconds)]
    return {"name": "sleep", "run": run, "processes": processes, "workdir": "/", **more}
