"""Which policy is in force, and what it needs to know about the jobs. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from motet.domain.errors import BadInput, MotetError, UnknownName
from motet.domain.events import PolicyChanged, RemainingMeasured
from motet.domain.policy import Policy
from motet.domain.snapshot import JobTable
from motet.domain.units import NEVER_US, microseconds
from motet.engine.policy_loading.catalogue import find_policy, make_policy, parameters_of
from motet.engine.policy_loading.engine_settings import (
    ENGINE_SETTINGS,
    engine_parameters,
    split_settings,
)
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_spec import JobSpec
from motet.live.master.facts import PolicyChosen
from motet.live.master.intake_result import Intake
from motet.live.master.state import LiveState

_REMEDY = (
    "submit jobs with duration_s (--duration), or use a policy that needs no durations "
    "(tiresias-las)"
)
LEAST_US = 1
"""Remaining time of a job that has run longer than its `duration_s`."""


def policy_of(policy: str, settings: Mapping[str, str]) -> Policy:
    """The policy with these parameters; those of the engine are only checked.

    Raises UnknownName, BadInput.
    """
    (name, kind), own = find_policy(policy), split_settings(settings)[0]
    known = {*(each.name for each in parameters_of(kind)), *ENGINE_SETTINGS}
    for key in own:
        if key not in known:
            raise UnknownName(f"parameter of {name}", key, known)
    return make_policy(name, kind, own)


def choose_policy(
    state: LiveState, policy: str, settings: Mapping[str, str], user: str = ""
) -> Intake:
    """Put a policy in force, unless it is. Raises BadInput if it needs to know more of the jobs."""
    chosen = PolicyChosen(policy, dict(settings), user, policy_of(policy, settings).needs_durations)
    if is_in_force(state, policy, settings) and not state.policy_failure:
        return Intake()
    if chosen.needs_durations:
        _check_active(policy, state.jobs.values())
    return Intake((chosen,), (PolicyChanged(policy, dict(settings)),))


def is_in_force(state: LiveState, policy: str, settings: Mapping[str, str]) -> bool:
    """Whether this policy with these parameters is in force; it may have failed."""
    return (policy, dict(settings)) == (state.policy.policy, dict(state.policy.settings))


def parameters_in_force(state: LiveState) -> dict[str, Any]:
    """The parameters of the policy in force and the engine's, with defaults, as values.

    Of a policy that has failed, and whose file cannot be read any more: as they were given.
    """
    chosen = state.policy
    try:
        policy = policy_of(chosen.policy, chosen.settings)
    except MotetError:
        if not state.policy_failure:
            raise
        return dict(chosen.settings)
    names = [each.name for each in parameters_of(type(policy))]
    values = {name: getattr(policy, name) for name in names}
    return values | engine_parameters(chosen.settings)


def check_duration(policy: PolicyChosen, spec: JobSpec) -> None:
    """Raises BadInput for a job without the duration that the policy in force needs."""
    if policy.needs_durations and spec.duration_s is None:
        raise BadInput(
            f"duration_s is missing: the policy in force, {policy.policy}, compares jobs by the "
            "time that they still need; give duration_s: SECONDS in the job file, or --duration"
        )


def _check_active(policy: str, jobs: Iterable[LiveJob]) -> None:
    lacking = [job for job in jobs if not job.state.is_final and job.spec.duration_s is None]
    if lacking:
        others = len(lacking) - 1
        more = f" and {others} other{'' if others == 1 else 's'}" if others else ""
        raise BadInput(
            f"{policy} compares jobs by the time that they still need, which is not known of job "
            f"{lacking[0].number}{more}; {_REMEDY}"
        )


def remaining_times(
    jobs: Mapping[int, LiveJob],
    table: JobTable,
    passed_us: int,
    *,
    of_all: bool,
    updated: Collection[int] = (),
) -> tuple[RemainingMeasured, ...]:
    """What `duration_s` leaves of the jobs that run whose users gave it; empty: of none.

    `table`: jobs that are active and not suspended. `passed_us`: time since its last account.
    `of_all`: also of jobs that do not run, whose remaining time changes only when they run, or when
    they are `updated`. A job that has run longer than its `duration_s` has the least time left.
    """
    runs = (table.held_gpus > 0) & (table.ready_us < NEVER_US)
    numbers, remaining = [], []
    is_measured = runs | np.isin(table.number, [*updated]) | of_all
    for row in np.flatnonzero(is_measured).tolist():
        number = int(table.number[row])
        if (duration_s := jobs[number].spec.duration_s) is not None:
            executed_us = int(table.executed_us[row])
            executed_us += passed_us if runs[row] else 0
            numbers.append(number)
            remaining.append(max(microseconds(duration_s) - executed_us, LEAST_US))
    if not numbers:
        return ()
    return (RemainingMeasured(np.array(numbers, np.int64), np.array(remaining, np.int64)),)
