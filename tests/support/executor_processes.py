"""The processes below this one that run executors of an embedded or a local Ray cluster."""

from __future__ import annotations

import contextlib

import psutil


def executor_processes() -> list[psutil.Process]:
    """Those that live now."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if "ExecutorActor" in " ".join(child.cmdline()):
                found.append(child)
    return found
