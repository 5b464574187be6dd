"""What jobs get from the environment of the server: no secrets of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import motet
from motet.live.master.requests import TrainingProgram

_SECRET_PREFIXES = ("MOTET_", "RAY_", "PGPASS")
_PYTHON = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}


def job_environment() -> dict[str, str]:
    """Variables of the server that jobs get: all but secrets, and Python's own."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_SECRET_PREFIXES) and name not in _PYTHON
    }
    return {**kept, "PYTHONUNBUFFERED": "1", "MOTET_PYTHON": sys.executable}


def training_program() -> TrainingProgram:
    """With the Motet of this server, wherever the process starts."""
    home = str(Path(motet.__file__).parents[1])
    return TrainingProgram(
        (sys.executable, "-P", "-m", "motet.interfaces.training_gang"), {"PYTHONPATH": home}
    )
