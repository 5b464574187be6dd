"""Job files of live jobs that run a program of this folder with the cluster's Aggregators."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

SUPPORT = Path(__file__).parent


def pool_job(program: str, folder: Path, processes: int) -> dict[str, Any]:
    """A job that runs a program, with `folder` as its argument, in that folder."""
    paths = (str(SUPPORT), os.environ.get("PYTHONPATH", ""))
    return {
        "name": "line",
        "run": [sys.executable, str(SUPPORT / program), str(folder)],
        "processes": processes,
        "workdir": str(folder),
        "envs": {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "OMP_NUM_THREADS": "1"},
    }
