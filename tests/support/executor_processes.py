"""The processes below this one that run executors, of any backend that is embedded here."""

from __future__ import annotations

import contextlib

import psutil


def executor_processes() -> list[psutil.Process]:
    """Those that live now."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if child.name() == "motet-executor" or "ExecutorActor" in " ".join(child.cmdline()):
                found.append(child)
    return found
