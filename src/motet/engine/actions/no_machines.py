"""The decision for a cluster without any machine: all jobs wait, in the order of arrival."""

from __future__ import annotations

import numpy as np

from motet.domain.decision import Decision, Reasons
from motet.domain.snapshot import Snapshot
from motet.domain.wait import Wait


def wait_for_machines(snapshot: Snapshot) -> Decision:
    """No policy is asked, since shares and sizes of nothing mean nothing."""
    jobs = len(snapshot.jobs)
    nothing = np.zeros(jobs, dtype=np.int64)
    reasons = Reasons(np.full(jobs, Wait.TOO_FEW_GPUS), nothing, np.arange(jobs))
    return Decision(nothing, reasons)
