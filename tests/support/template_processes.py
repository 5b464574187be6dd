"""The template processes below this one."""

from __future__ import annotations

import contextlib

import psutil


def template_processes() -> list[psutil.Process]:
    """Those that live now and have imported the runtime."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if child.name() == "motet-template" and child.status() != psutil.STATUS_ZOMBIE:
                found.append(child)
    return found
