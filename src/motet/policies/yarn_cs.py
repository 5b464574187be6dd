"""YARN's capacity scheduler as Tiresias compares itself with it (Gu et al., NSDI 2019, section 5).

First in, first out, never preempted, always on as few machines as possible: the head of the line
waits until so few machines can hold it, and everybody behind it waits, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from motet.allocation.order import order_by, places_in
from motet.domain.decision import Decision, Reasons, Wait
from motet.domain.errors import BadInput
from motet.domain.snapshot import Placement, Snapshot
from motet.domain.units import NEVER_US, microseconds
from motet.placement.machines import fewest_machines, in_order


@dataclass(frozen=True)
class YarnCs:
    """`locality_wait_s`: after waiting so long at the head of the line a job takes GPUs on any
    machines (inf: it insists).
    """

    locality_wait_s: float = float("inf")

    memory_columns: ClassVar[dict[str, int]] = {"headed_us": NEVER_US}

    def __post_init__(self) -> None:
        if not self.locality_wait_s >= 0:
            raise BadInput(f"locality_wait_s={self.locality_wait_s}: give seconds, not below 0")

    def decide(self, snapshot: Snapshot) -> Decision:
        """Whoever runs goes on; then the others in order until one cannot be consolidated."""
        jobs, now_us = snapshot.jobs, snapshot.now_us
        gpus, free = jobs.held_gpus.copy(), snapshot.free_gpus.copy()
        order = order_by(jobs.held_gpus == 0, jobs.submit_us, jobs.number)
        waiting = order[np.count_nonzero(gpus) :].tolist()
        headed_us = snapshot.memory["headed_us"].copy()
        places: dict[int, Placement] = {}
        code = np.where(gpus > 0, int(Wait.RUNS), int(Wait.BEHIND_HEAD))
        recheck_us = NEVER_US
        for row in waiting:
            headed_us[row] = min(int(headed_us[row]), now_us)
            wanted = int(jobs.gpus[row])
            if wanted > free.sum():
                code[row] = Wait.TOO_FEW_GPUS
                break
            place = in_order(np.argsort(-free, kind="stable"), free, wanted)
            is_spread = len(place.machines) > fewest_machines(snapshot.cluster.gpus, wanted)
            if is_spread and now_us < (until_us := self._patience_us(int(headed_us[row]))):
                code[row], recheck_us = Wait.LOCALITY, until_us
                break
            free[list(place.machines)] -= place.counts
            gpus[row], code[row], places[row] = wanted, Wait.RUNS, place
        reasons = Reasons(code, np.full_like(gpus, free.sum()), places_in(order))
        return Decision(
            gpus, reasons, places, recheck_at_us=recheck_us, memory={"headed_us": headed_us}
        )

    def _patience_us(self, headed_us: int) -> int:
        """Until when a job that came to the head then insists on its locality."""
        if self.locality_wait_s == float("inf"):
            return NEVER_US
        return headed_us + microseconds(self.locality_wait_s)


POLICIES = {"yarn-cs": YarnCs}
