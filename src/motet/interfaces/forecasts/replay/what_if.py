"""What would have happened under another policy: the journal replayed in the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from motet.domain.errors import NotFound
from motet.domain.events import Submitted
from motet.domain.queues.queue_limits import Queues
from motet.interfaces.forecasts.draws.past_failures import PastFailures
from motet.interfaces.forecasts.draws.past_starts import PastStarts
from motet.interfaces.forecasts.draws.past_stops import PastStops
from motet.interfaces.forecasts.followed_journal import FollowedJournal
from motet.interfaces.forecasts.remaining_work import RemainingWork
from motet.interfaces.forecasts.replay.attempts_in_progress import AttemptsInProgress
from motet.interfaces.forecasts.replay.policies_in_turn import PoliciesInTurn
from motet.interfaces.forecasts.replay.what_if_report import Tell, untold, what_if_report
from motet.interfaces.forecasts.replayed_period import PolicyInForce, ReplayedPeriod
from motet.interfaces.forecasts.simulation_start import SimulationStart
from motet.interfaces.forecasts.sizes.sized_trainings import SizedTrainings
from motet.live.master.policy_choice import policy_of
from motet.sim.workload.interventions import TimedEvent


@dataclass(frozen=True)
class WhatIfQuestion:
    """`since_us`, `until_us`: Unix time; None: from the beginning, to the last record."""

    policy: str
    settings: Mapping[str, str] = field(default_factory=dict)
    since_us: int | None = None
    until_us: int | None = None


def what_if(journal: FollowedJournal, asked: WhatIfQuestion, tell: Tell = untold) -> dict[str, Any]:
    """The period as it was, simulated under the policies that were in force, and under another one.

    `journal`: not read yet. `tell`: see Tell. Raises BadInput, UnknownName for the policy,
    NotFound without jobs.
    """
    wanted = PolicyInForce(asked.policy, dict(asked.settings))
    policy_of(wanted.policy, wanted.settings)
    tell("reads the journal")
    reported: list[TimedEvent] = []
    journal.read(0 if asked.since_us is None else asked.since_us, reported)
    start = SimulationStart.of(journal.cluster.engine)
    in_progress = AttemptsInProgress.of(journal.cluster.state)
    first = journal.cluster.state.queue_book.in_force
    limits = dict(zip(first.names, first.limits, strict=True))
    happened = journal.read(reported=reported)
    state, engine = journal.cluster.state, journal.cluster.engine
    new = {event.job: event.columns for _, event in happened if isinstance(event, Submitted)}
    rows = {**start.rows, **new}
    jobs = [state.jobs[number] for number in sorted(rows)]
    until_us = max(asked.until_us or 0, engine.state.now_us)
    work = RemainingWork.of(state.jobs.values(), jobs, start.now_us, until_us)
    start = start.with_actions(in_progress.done_us(state.jobs, work.runs))
    bounds_us = start.now_us, until_us
    sized = SizedTrainings.of(jobs, rows, reported, work, bounds_us, state.history)
    first_us = min((job.submitted_us for job in jobs), default=0)
    policies = PoliciesInTurn.of(state.policies, max(start.now_us, first_us))
    period = ReplayedPeriod.of(
        start,
        happened,
        engine.state.cluster,
        Queues.with_limits(state.queues, limits),
        {job.number: job.user for job in jobs},
        work.work_us,
        PastStarts(
            {job.number: work.runs.starts_us(job, start.now_us) for job in jobs},
            work.runs.start_up_us,
        ),
        policies.first,
        sized,
        PastStops.of(state.jobs.values(), start.now_us),
        PastFailures.of(jobs, start.now_us, work, sized, happened),
    )
    if not period.jobs:
        raise NotFound("no jobs were active in this period; give an earlier --since")
    divergence = journal.cluster.divergence
    warnings = [] if divergence is None else [str(divergence)]
    return what_if_report(state, period, policies, work, sized, wanted, until_us, warnings, tell)
