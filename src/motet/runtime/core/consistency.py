"""How the workers of a job synchronise."""

from __future__ import annotations

from dataclasses import dataclass

from motet.runtime.core.options import Consistency


@dataclass(frozen=True)
class Synchronisation:
    """How the workers of a job keep step."""

    consistency: Consistency
    staleness: int
    workers: tuple[int, ...]
