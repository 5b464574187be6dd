"""Fair sharing: every job that is there gets equally many GPUs, and none stands idle.

The scheduler that SLAQ is compared with (Zhang et al., SoCC 2017, section 4), for elastic jobs.
"""

from __future__ import annotations

from dataclasses import dataclass

from motet.allocation.max_min_share import deal
from motet.allocation.order import order_by
from motet.domain.decision import Decision
from motet.domain.policy import Policy
from motet.domain.snapshot import Snapshot


@dataclass(frozen=True)
class Fair(Policy):
    """GPUs are dealt out evenly; work-conserving, preemptive.

    In the order of submission every job gets the least that it can run with (a rigid one all that
    it asks for), if that many are left; who does not fit is overtaken. The others are dealt to
    elastic jobs, one worker or server at a time to whoever holds the fewest GPUs.
    """

    def decide(self, snapshot: Snapshot) -> Decision:
        """From an empty cluster, each time anew."""
        jobs = snapshot.jobs
        dealt = deal(order_by(jobs.submit_us, jobs.number), jobs, snapshot.gpu_count)
        return Decision(dealt.gpus, dealt.reasons, workers=dealt.workers, servers=dealt.servers)


POLICIES = {"fair": Fair}
