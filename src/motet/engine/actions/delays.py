"""Keep jobs waiting that may not start yet, whatever the policy decided. Pure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.decision import Decision, Reasons
from motet.domain.snapshot import Snapshot
from motet.domain.wait import Wait
from motet.engine.actions.running_jobs import keeping_running_jobs


def without_delayed(decision: Decision, snapshot: Snapshot, not_before_us: Ints) -> Decision:
    """The decision without starts of jobs before their time; they are decided again at that time.

    `not_before_us`: `(jobs,)`. The policy has ordered and counted these jobs as all others, so the
    GPUs that it gave them stay free for them: a delay costs no job its place in line. A job that
    would be preempted for them runs on until then. The delay is also the reason of a delayed job
    that the policy keeps back from free GPUs, as policies that decide at fixed times do in between.
    """
    jobs, reasons = snapshot.jobs, decision.reasons
    is_delayed = (not_before_us > snapshot.now_us) & (jobs.held_gpus == 0)
    is_early = is_delayed & (decision.gpus > 0)
    waits = is_early | (is_delayed & (reasons.code == Wait.ORDER))
    if not waits.any():
        return decision
    reasons = _reasons(reasons, np.flatnonzero(waits), not_before_us)
    if not is_early.any():
        return replace(decision, reasons=reasons)
    early = {*np.flatnonzero(is_early).tolist()}
    delayed = replace(
        decision,
        gpus=np.where(is_early, 0, decision.gpus),
        reasons=reasons,
        places={row: place for row, place in decision.places.items() if row not in early},
        workers=_without(decision.workers, is_early),
        servers=_without(decision.servers, is_early),
        recheck_at_us=min(decision.recheck_at_us, int(not_before_us[is_early].min())),
    )
    return keeping_running_jobs(delayed, snapshot)


def _reasons(reasons: Reasons, rows: Ints, not_before_us: Ints) -> Reasons:
    code = reasons.code.copy()
    code[rows] = Wait.RESTART_DELAYED
    return replace(reasons, code=code, until_us=reasons.known_until(rows, not_before_us[rows]))


def _without(column: Ints | None, rows: Ints) -> Ints | None:
    return None if column is None else np.where(rows, 0, column)
