"""A job that runs for given seconds in all: preempted, it continues where it stopped."""

from __future__ import annotations

from typing import Any

from support.resumable_program import resumable_command


def resumable_job(seconds: float, processes: int = 1, **more: Any) -> dict[str, Any]:
    """The values of a job file."""
    return {
        "name": "sleep",
        "run": resumable_command(seconds),
        "processes": processes,
        "workdir": "/",
        **more,
    }
