"""DRF as in a cluster without Optimus: every job has as many servers as workers.

    motet simulate --trace optimus-50 --cluster 13x3 --set placement=spread \\
        --policy ./benchmarks/policies/paired_drf.py

Every job gets equally many pairs of a worker and a server: of one resource the dominant share is
the number of slots. What is left over stays free. Where pairs do not suffice for all jobs, those
that were submitted first have one.
"""

from dataclasses import dataclass

import numpy as np

from motet.domain.decision import Decision, Reasons, Wait
from motet.domain.policy import Policy


@dataclass(frozen=True)
class PairedDrf(Policy):
    """`static`: a job keeps its first number of pairs to its end, so jobs that end leave nothing to
    those that run.
    """

    static: bool = True

    def decide(self, snapshot):
        """Equal pairs for all jobs, in the order of submission where they do not suffice."""
        jobs = snapshot.jobs
        pair_gpus = np.maximum(jobs.worker_gpus + jobs.server_gpus, 1)
        pairs = np.minimum(jobs.held_workers, jobs.held_servers) * self.static
        free = snapshot.gpu_count - int((pairs * pair_gpus).sum())
        share = snapshot.gpu_count // max(len(jobs), 1)
        fair = np.minimum(np.maximum(share // pair_gpus, 1), jobs.max_workers)
        order = np.lexsort((jobs.number, jobs.submit_us))
        free_gpus, position = np.empty_like(pairs), np.empty_like(pairs)
        for place, row in enumerate(order.tolist()):
            free_gpus[row], position[row] = free, place
            if pairs[row] == 0:
                pairs[row] = min(int(fair[row]), free // int(pair_gpus[row]))
                free -= int(pairs[row] * pair_gpus[row])
        code = np.where(pairs > 0, int(Wait.RUNS), int(Wait.TOO_FEW_GPUS))
        reasons = Reasons(code, free_gpus, position)
        return Decision(pairs * pair_gpus, reasons, workers=pairs, servers=pairs)


POLICIES = {"paired-drf": PairedDrf}
