"""K-means with COMP that takes as long on a busy machine as on an idle one."""

from __future__ import annotations

import time
from typing import ClassVar

from motet.apps.kmeans import KMeans
from motet.domain.arrays import Array
from motet.runtime.core.application import Batch, Step, Update

COMP_S_PER_INSTANCE = 2e-4


class SlowKMeans(KMeans):
    """What COMP waits for here, a real one computes; machines of a test share a few CPUs."""

    name: ClassVar[str] = "slow_kmeans"

    def compute(self, batch: Batch, model: Array, step: Step) -> Update:
        time.sleep(COMP_S_PER_INSTANCE * len(batch.rows))
        return super().compute(batch, model, step)
