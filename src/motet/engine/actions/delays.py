"""Keep jobs waiting that may not start yet, whatever the policy decided. Pure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.decision import Decision
from motet.domain.snapshot import Snapshot
from motet.domain.wait import Wait
from motet.engine.actions.running_jobs import keeping_running_jobs


def without_delayed(decision: Decision, snapshot: Snapshot, not_before_us: Ints) -> Decision:
    """The decision without starts of jobs before their time; they are decided again at that time.

    `not_before_us`: `(jobs,)`. The policy has ordered and counted these jobs as all others, so the
    GPUs that it gave them stay free for them: a delay costs no job its place in line. A job that
    would be preempted for them runs on until then.
    """
    jobs = snapshot.jobs
    is_early = (not_before_us > snapshot.now_us) & (jobs.held_gpus == 0) & (decision.gpus > 0)
    if not is_early.any():
        return decision
    gpus, code = decision.gpus.copy(), decision.reasons.code.copy()
    gpus[is_early], code[is_early] = 0, Wait.RESTART_DELAYED
    early = {*np.flatnonzero(is_early).tolist()}
    delayed = replace(
        decision,
        gpus=gpus,
        reasons=replace(decision.reasons, code=code),
        places={row: place for row, place in decision.places.items() if row not in early},
        workers=_without(decision.workers, is_early),
        servers=_without(decision.servers, is_early),
        recheck_at_us=min(decision.recheck_at_us, int(not_before_us[is_early].min())),
    )
    return keeping_running_jobs(delayed, snapshot)


def _without(column: Ints | None, rows: Ints) -> Ints | None:
    return None if column is None else np.where(rows, 0, column)
