"""Files of attempts in the state folder of a live cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def attempt_file(folder: Path, job: int, attempt: int, rank: int, name: str) -> Any:
    """A JSON file of a rank, or None."""
    path = folder / "attempts" / str(job) / str(attempt) / f"rank-{rank}" / name
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        return None
