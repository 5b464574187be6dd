"""Policies of a user's own, most of them wrong, as files."""

from __future__ import annotations

from pathlib import Path

_FILE = """\
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from motet.allocation.fill import fill
from motet.domain.decision import Decision, Reasons, Wait
from motet.domain.snapshot import Placement

{loading}

@dataclass(frozen=True)
class Mine:
    memory_columns: ClassVar[dict[str, int]] = {{"seen": 0}}

    def decide(self, snapshot):
        jobs = snapshot.jobs
        order = np.argsort(jobs.number)
        gpus, reasons, _ = fill(order, jobs.gpus, snapshot.gpu_count, may_overtake=True)
        {deciding}
        return Decision(gpus, reasons)


POLICIES = {{"mine": Mine}}
"""
FAULT_LINE = 20
"""Where `deciding` stands."""


def own_policy(folder: Path, deciding: str = "pass", *, loading: str = "") -> Path:
    """A file with `best-effort` without preemption, and one more statement in two places."""
    path = folder / "mine.py"
    path.write_text(_FILE.format(deciding=deciding, loading=loading), encoding="utf-8")
    return path
