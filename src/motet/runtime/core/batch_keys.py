"""The model keys of one worker's part of a mini-batch."""

from __future__ import annotations

from dataclasses import dataclass

from motet.domain.arrays import Indices


@dataclass(frozen=True, eq=False)
class BatchKeys:
    """What a worker pulls and pushes in one mini-batch; the same object in every epoch.

    `keys`: sorted and unique (None: all); `instances`: how many of the mini-batch's instances the
    worker has.
    """

    keys: Indices | None
    instances: int
