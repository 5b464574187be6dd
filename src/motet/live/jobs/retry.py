"""What the failure of an attempt means for its job: another attempt, or the end. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from motet.domain.units import SECOND_US
from motet.live.jobs.attempt import UNFINISHED, Attempt, AttemptOutcome, StopCause, told
from motet.live.jobs.failure_class import Failure, FailureClass, classify
from motet.live.jobs.job import LiveJob
from motet.live.launcher.messages import RankExit, first_failure

FIRST_DELAY_S, LONGEST_DELAY_S = 2.0, 60.0
LONG_US = 600 * SECOND_US
"""An attempt that ran so long has got somewhere."""
MOST_NETWORK_FAILURES = 3
"""In a row; more of them are the job's own: a server that it wants to reach does not exist."""


@dataclass(frozen=True, slots=True)
class AttemptVerdict:
    """How a failed attempt counts. `reason`: for people. `is_end`: the job has failed for good."""

    outcome: AttemptOutcome
    failure: FailureClass
    reason: str
    is_end: bool


def verdict(
    job: LiveJob,
    attempt: Attempt,
    outcome: AttemptOutcome,
    exits: tuple[RankExit, ...],
    log_tail: str,
) -> AttemptVerdict:
    """`outcome`: FAILED or LOST, by the ends of the processes alone."""
    loses_killed = job.spec.loses_killed_processes
    what = told(exits, loses_killed=loses_killed)
    if outcome is AttemptOutcome.LOST:
        is_machine = attempt.stop_cause is StopCause.MACHINE_LOST
        kind = FailureClass.LOST_MACHINE if is_machine else FailureClass.LOST_PROCESS
        return AttemptVerdict(outcome, kind, what, is_end=False)
    found = _failure(exits, log_tail)
    reason = f"{what}: {found.evidence}" if found.evidence else what
    if found.kind is FailureClass.NETWORK and _in_a_row(job) < MOST_NETWORK_FAILURES:
        return AttemptVerdict(AttemptOutcome.LOST, found.kind, reason, is_end=False)
    is_last = job.failures + 1 >= job.spec.retry.max_attempts
    if codes := job.spec.retry.on_exit_codes:
        is_listed = exits[first_failure(exits) or 0].code in codes
        if not is_listed and not is_last:
            reason += "; not run again: retry.on_exit_codes does not list it"
        return AttemptVerdict(outcome, found.kind, reason, is_last or not is_listed)
    if found.kind.value.is_permanent and not is_last:
        reason += f"; not run again: a {found.kind.value.title} would be met again"
    return AttemptVerdict(outcome, found.kind, reason, is_last or found.kind.value.is_permanent)


def delay_s(job: LiveJob, failure: str, ended_us: int) -> float:
    """How long the next attempt waits after a failure: not at all after the first one in a row.

    `failure`: the class of the attempt that ends now. Lost machines delay nothing, and an attempt
    that ran for a while begins a new row.
    """
    if failure == FailureClass.LOST_MACHINE.key:
        return 0.0
    attempts = [each for each in reversed(job.attempts) if each.has_ended or each is job.attempt]
    row = _leading(_is_short_failure(each, failure, ended_us) for each in attempts)
    return 0.0 if row <= 1 else min(FIRST_DELAY_S * 2.0 ** min(row - 2, 30), LONGEST_DELAY_S)


def _is_short_failure(attempt: Attempt, failure: str, ended_us: int) -> bool:
    kind = attempt.failure if attempt.has_ended else failure
    began_us = attempt.requested_us if attempt.running_us is None else attempt.running_us
    lived_us = (attempt.ended_us or ended_us) - began_us
    return bool(kind) and lived_us < LONG_US and kind != FailureClass.LOST_MACHINE.key


def _failure(exits: tuple[RankExit, ...], log_tail: str) -> Failure:
    rank = first_failure(exits)
    assert rank is not None
    code = None if exits[rank].code == UNFINISHED else exits[rank].code
    return classify(code, exits[rank].signal, log_tail)


def _in_a_row(job: LiveJob) -> int:
    """Network failures of the last attempts."""
    return _leading(
        each.failure == FailureClass.NETWORK.key
        for each in reversed(job.attempts)
        if each.has_ended
    )


def _leading(holds: Iterable[bool]) -> int:
    count = 0
    for each in holds:
        if not each:
            break
        count += 1
    return count
