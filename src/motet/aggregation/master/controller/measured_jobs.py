"""Profiles of jobs, measured losses of speed, and the changes of the plan that follow from them."""

from __future__ import annotations

import numpy as np

from motet.aggregation.master.controller.placement import planned_homes, targets
from motet.aggregation.master.state.link_times import link_times
from motet.aggregation.master.state.pool_job import PoolJob
from motet.aggregation.master.state.pool_state import PoolState
from motet.aggregation.planner.job_profile import AggregationProfile
from motet.domain.arrays import Ints

COPIES = 2
"""How many Aggregators update a tensor: its home and its replica. The planner counts the CPU time
of both at the home; a replica is on the next Aggregator, which has that much room less."""
_CHANGED_SHARE = 0.2
"""A profile is replaced when the CPU time of the job's tensors, or their time on links, differs by
this share."""


def plan_measured_job(state: PoolState, job: PoolJob) -> None:
    """Place a job whose profile is complete, or spread it if it loses too much speed."""
    if not job.is_routed or job.heirs:
        return
    if job.profile is None:
        _place_if_profiled(state, job)
    elif planned_homes(state, job.number) is not None:
        _judge(state, job)


def loss_of(job: PoolJob) -> float | None:
    """The measured loss of speed against the job's profile; None: not measured."""
    if job.profile is None or job.iteration_ns <= 0:
        return None
    return max(0.0, 1 - job.profile.iteration_ns / job.iteration_ns)


def limit_of(state: PoolState, job: PoolJob) -> float:
    """The share of its speed that a job must not lose."""
    return state.settings.rules.loss_limit if job.loss_limit is None else job.loss_limit


def recalibrate(state: PoolState) -> None:
    """Replace the profiles of planned jobs whose tensors take another CPU time or time on links
    now.
    """
    for job in state.jobs.values():
        if job.profile is None or planned_homes(state, job.number) is None or job.heirs:
            continue
        now = _measured_profile(state, job, job.profile.iteration_ns)
        if _differs(now, job.profile):
            _replace_profile(state, job, now)


def refit(state: PoolState) -> None:
    """Place jobs anew that do not fit where they are: the pool goes on with stricter settings, or
    the times on links, which are not saved, follow from other numbers of workers than before.
    """
    for job in state.jobs.values():
        if planned_homes(state, job.number) is None or state.pool.has_room(job.number):
            continue
        assert job.profile is not None, "a planned job has a profile"
        _replace_profile(state, job, job.profile)


def _place_if_profiled(state: PoolState, job: PoolJob) -> None:
    if job.measured_steps < state.settings.profiled_steps or job.iteration_ns <= 0:
        return
    job.profile = _measured_profile(state, job, job.iteration_ns)
    job.judged_from = job.steps[1] + state.settings.judged_steps
    state.pool = state.pool.after_arrival(job.number, job.profile)


def _judge(state: PoolState, job: PoolJob) -> None:
    """Compare the speed with the profile, `judged_steps` after the last change."""
    if (job.homes != targets(state, job)).any():
        job.judged_from = job.steps[1] + state.settings.judged_steps
    loss = loss_of(job)
    if loss is None or job.steps[0] < job.judged_from:
        return
    assert job.profile is not None, "a loss is measured against a profile"
    job.judged_from = job.steps[1] + state.settings.judged_steps
    exceeds = loss >= limit_of(state, job)
    if job.iteration_ns < job.profile.iteration_ns or (exceeds and _is_alone(state, job)):
        # Nothing but the job itself explains its speed.
        _replace_profile(state, job, _measured_profile(state, job, job.iteration_ns))
    elif exceeds and state.pool.aggregators < state.settings.rules.most_aggregators:
        _spread(state, job)


def _spread(state: PoolState, job: PoolJob) -> None:
    known = np.array(job.added, np.int64)
    before = state.pool.next_number
    state.pool = state.pool.with_spread(job.number, known)
    homes = planned_homes(state, job.number)
    assert homes is not None, "a spread job stays in the plan"
    job.added = (*job.added, *np.unique(homes[homes >= before]).tolist())


def _is_alone(state: PoolState, job: PoolJob) -> bool:
    """Whether no other job has tensors on the job's Aggregators."""
    return not any(
        np.isin(other.homes, job.homes).any() for other in state.jobs.values() if other is not job
    )


def _replace_profile(state: PoolState, job: PoolJob, profile: AggregationProfile) -> None:
    job.profile = profile
    state.pool = state.pool.with_profile(job.number, profile)
    homes = planned_homes(state, job.number)
    job.added = tuple(each for each in job.added if homes is not None and each in homes)


def _measured_profile(state: PoolState, job: PoolJob, iteration_ns: int) -> AggregationProfile:
    """What the job needs now, with iterations of this duration."""
    return AggregationProfile(
        iteration_ns,
        _tensor_ns(job, iteration_ns),
        min(job.request.servers, len(job.homes)),
        job.loss_limit,
        link_times(job.request, len(job.schedule.ranks), state.settings.link_bps, iteration_ns),
    )


def _differs(now: AggregationProfile, known: AggregationProfile) -> bool:
    now_ns, known_ns = now.needs_ns.sum(axis=1), known.needs_ns.sum(axis=1)
    return bool((abs(now_ns - known_ns) > _CHANGED_SHARE * known_ns).any())


def _tensor_ns(job: PoolJob, iteration_ns: int) -> Ints:
    """CPU time of each tensor in an iteration, with its replica; at most an iteration."""
    found = np.ones(len(job.homes), np.int64)
    for aggregator in job.live_homes:
        if aggregator in job.measured:
            for tensor, cpu_ns in job.measured[aggregator].tensor_ns.items():
                if 0 <= tensor < len(found) and job.homes[tensor] == aggregator:
                    found[tensor] = COPIES * cpu_ns
    return np.clip(found, 1, iteration_ns)
