"""Reports of the launcher that a gang runs, or has its new size, turned into facts. Pure."""

from __future__ import annotations

from motet.domain.events import Resized, Started
from motet.domain.units import FULL_SPEED, SECOND_US
from motet.live.jobs.attempt import MOVES, AttemptPhase
from motet.live.jobs.job import LiveJob
from motet.live.launcher.messages import AttemptResized, AttemptRunning
from motet.live.master.facts import AttemptRan, GangResized
from motet.live.master.intake_result import Intake
from motet.live.master.state import LiveState


def gang_intake(state: LiveState, now_us: int, report: AttemptRunning | AttemptResized) -> Intake:
    """All processes run that should."""
    if isinstance(report, AttemptResized):
        return _resized(state, now_us, report)
    return _running(state, now_us, report)


def _running(state: LiveState, now_us: int, report: AttemptRunning) -> Intake:
    job, number = attempt_of(state, report.attempt)
    attempt = job.attempts[number - 1]
    if attempt.running_us is not None or attempt.has_ended:
        return Intake()
    since_us = max(min(round(report.at_s * SECOND_US), now_us), attempt.requested_us)
    fact = AttemptRan(job.number, number, since_us)
    if attempt.phase is not AttemptPhase.REQUESTED:
        return Intake((fact,))
    has_moved = number > 1 and job.attempts[number - 2].stop_cause in MOVES
    kind = Resized if has_moved else Started
    return Intake((fact,), (kind(job.number, now_us, FULL_SPEED, FULL_SPEED, since_us),))


def _resized(state: LiveState, now_us: int, report: AttemptResized) -> Intake:
    """The slots of those that left are free. A report of an earlier resize is no news."""
    job, number = attempt_of(state, report.attempt)
    attempt = job.attempts[number - 1]
    roster, is_running = attempt.roster, attempt.phase is AttemptPhase.RUNNING
    if roster is None or not (attempt.is_resizing and is_running):
        return Intake()
    if (report.size, report.dismissed) != (len(roster.machines), roster.dismissed):
        return Intake()
    event = Resized(job.number, now_us, FULL_SPEED, FULL_SPEED)
    return Intake((GangResized(job.number, number),), (event,))


def attempt_of(state: LiveState, attempt: str) -> tuple[LiveJob, int]:
    """The job of an attempt's id `JOB.NUMBER`, and the number of the attempt in which the processes
    that began with it are now."""
    text, _, number = attempt.partition(".")
    job = state.jobs[int(text)]
    return job, job.latest_of(int(number)).number
