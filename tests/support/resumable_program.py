"""A job that runs for given seconds in all: preempted, it continues where it stopped."""

from __future__ import annotations

import sys
from typing import Any

from support.resumable_program import PROGRAM


def resumable_job(seconds: float, processes: int = 1, **more: Any) -> dict[str, Any]:
    """The values of a job file."""
    run = [sys.executable, "-S", "-c", PROGRAM, str(seconds)]
    return {"name": "sleep", "run": run, "processes": processes, "workdir": "/", **more}
