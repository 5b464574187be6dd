"""A policy in a file that tests edit between two starts of a server."""

from __future__ import annotations

from pathlib import Path

from motet.live.master.intake import ChoosePolicy

OWN = """
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from motet.allocation.fill import fill
from motet.domain.decision import Decision
from motet.domain.policy import Policy

@dataclass(frozen=True)
class Own(Policy):
    memory_columns: ClassVar[dict[str, int]] = {columns}

    def decide(self, snapshot):
        order = np.argsort({order} * snapshot.jobs.number)
        filled = fill(order, snapshot.jobs.gpus, snapshot.gpu_count, may_overtake=True)
        memory = {{name: column + 1 for name, column in snapshot.memory.items()}}
        return Decision(filled.gpus, filled.reasons, memory=memory)

POLICIES = {{"own": Own}}
"""


def own_policy(path: Path, order: int = 1, columns: str = "{'seen': 0}") -> ChoosePolicy:
    """Runs the oldest (1) or newest (-1) jobs, and counts the decisions about every job."""
    path.write_text(OWN.format(order=order, columns=columns))
    return ChoosePolicy(str(path))
