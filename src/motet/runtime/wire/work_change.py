"""A change of the workers, or of their data blocks, from a mini-batch on."""

from __future__ import annotations

from dataclasses import dataclass

from motet.runtime.wire.ownership import Ownership


@dataclass(frozen=True, eq=False)
class WorkChange:
    """From mini-batch `clock` on, `workers` compute, each with the data blocks that it owns.

    `number`: the change's, ascending within a generation.
    """

    number: int
    clock: int
    workers: tuple[int, ...]
    data: Ownership
