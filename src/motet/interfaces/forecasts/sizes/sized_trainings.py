"""Trainings that a replay resizes: their work, their speeds and what they reported. Pure.

Work is what was done in the time for which a job held slots, at the speeds that its sizes have, and
beside the jobs that it shared machines with: the same sizes lead to the same times.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from motet.domain.events import (
    DataSizes,
    Goal,
    ProgressMeasured,
    SizeProposed,
    SpeedMeasured,
    Submitted,
    SubtasksMeasured,
)
from motet.domain.units import microseconds
from motet.estimate.colocation.subtask_profile import SubtaskProfile
from motet.interfaces.forecasts.remaining_work import RemainingWork
from motet.interfaces.forecasts.sizes.done_work import DoneWork
from motet.interfaces.forecasts.sizes.held_spans import held_spans
from motet.interfaces.forecasts.sizes.known_speeds import known_speeds
from motet.live.jobs.attempt import MOVES
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_spec import TrainingSpec
from motet.live.master.decision_history import DecisionHistory
from motet.sim.workload.elastic_work import ROLE_COLUMNS
from motet.sim.workload.interventions import TimedEvent
from motet.sim.workload.job_reports import WorkReport
from motet.sim.workload.measured_work import MeasuredJob

_MOVED = ("resize", "migrate")
_USUAL = {"worker_gpus": 1, "server_gpus": 0, "servers": 0, "min_servers": 0, "max_servers": 0}


@dataclass(frozen=True, eq=False)
class SizedTrainings:
    """By number of the job. `fixed`: elastic trainings that had one size only, and keep it.
    `unprofiled`: trainings on machines that have reported no COMP and COMM. `lost_us`: the training
    time that a resize costs beside a start-up, on average. `done`: the work of each by time."""

    jobs: Mapping[int, MeasuredJob]
    reports: Mapping[int, Sequence[WorkReport]]
    goals: Mapping[int, Goal]
    data: Mapping[int, DataSizes]
    fixed: frozenset[int]
    unprofiled: frozenset[int]
    lost_us: int
    done: Mapping[int, DoneWork]

    @classmethod
    def of(
        cls,
        jobs: Iterable[LiveJob],
        rows: Mapping[int, Mapping[str, int]],
        reported: Sequence[TimedEvent],
        work: RemainingWork,
        period_us: tuple[int, int],
        history: DecisionHistory,
    ) -> SizedTrainings:
        """Of these jobs, in the period from its start to its end. `rows`: their columns when they
        arrived, or at the start. `reported`: since the beginning of the journal, with the decisions
        of `history`."""
        elastic = {job.number: job for job in jobs if _is_elastic(job)}
        events = _by_job(reported, elastic)
        fixed = frozenset(number for number, job in elastic.items() if _has_one_size(job))
        chosen = {number: job for number, job in elastic.items() if number not in fixed}
        speeds = {number: known_speeds(job, events[number]) for number, job in chosen.items()}
        spans = held_spans(chosen.values(), *period_us, work.runs.start_us)
        found: dict[int, MeasuredJob] = {}
        reports: dict[int, list[WorkReport]] = {}
        lost_us: list[float] = []
        works = {number: DoneWork(number, spans.get(number, []), speeds) for number in chosen}
        for number, job in chosen.items():
            done = works[number]
            roles = _roles(job, rows[number])
            steps = done.whole + done.ahead(work.rest_us[number], period_us[1], roles)
            takes_proposals = isinstance(job.spec, TrainingSpec) and job.spec.proposes_size
            found[number] = MeasuredJob(
                max(round(steps), 1), roles, speeds[number], takes_proposals=takes_proposals
            )
            reports[number] = [
                (int(done.until(at_us)), event)
                for at_us, event in events[number]
                if at_us > period_us[0]
            ]
            lost_us += _lost_us(job, done, history, period_us[0])
        by_machine = (number for number, job in chosen.items() if job.spec.is_by_machine)
        unprofiled = (it for it in by_machine if not isinstance(speeds[it], SubtaskProfile))
        mean_us = max(round(fmean(lost_us)), 0) if lost_us else 0
        arrived = _arrivals(chosen, reported)
        return cls(found, reports, *arrived, fixed, frozenset(unprofiled), mean_us, works)

    def left_us(self, job: int, at_us: int) -> int | None:
        """The work that a training had left then, as time on its full request; None: it keeps its
        size."""
        if job not in self.jobs:
            return None
        left = max(self.jobs[job].steps - self.done[job].until(at_us), 0.0)
        return microseconds(left / self.jobs[job].full_speed)

    @property
    def proposals(self) -> int:
        """How many sizes were proposed."""
        events = (event for each in self.reports.values() for _, event in each)
        return sum(isinstance(event, SizeProposed) for event in events)


def _roles(job: LiveJob, row: Mapping[str, int]) -> dict[str, int]:
    """Values of ROLE_COLUMNS. One that proposes its size begins with its least, one on machines has
    the limits of its user, another one those of the sizes that it had."""
    roles = {name: row.get(name, _USUAL.get(name, 0)) for name in ROLE_COLUMNS}
    if job.spec.is_by_machine:
        return roles
    assert isinstance(job.spec, TrainingSpec)
    for role in ("workers", "servers"):
        if job.spec.proposes_size:
            least = most = roles[f"min_{role}"]
        else:
            held = [getattr(attempt, role) for attempt in job.attempts]
            least, most = min(held), max(held)
        roles[f"min_{role}"], roles[f"max_{role}"] = least, most
        roles[role] = min(max(roles[role], least), most)
    return roles


def _is_elastic(job: LiveJob) -> bool:
    """Also one on a given number of machines, which may share them."""
    spec = job.spec
    return isinstance(spec, TrainingSpec) and (spec.is_elastic or spec.is_by_machine)


def _has_one_size(job: LiveJob) -> bool:
    """Whether nothing tells how fast it is with another size."""
    assert isinstance(job.spec, TrainingSpec)
    if job.spec.proposes_size or job.spec.is_by_machine:
        return False
    return len({(attempt.workers, attempt.servers) for attempt in job.attempts}) < 2


def _lost_us(
    job: LiveJob, done: DoneWork, history: DecisionHistory, from_us: int
) -> Iterator[float]:
    """The training time that each resize or move cost beside a start-up, of those decided since
    `from_us`: until the processes had
    finished their epoch, the job trained at the speed of its slots before. On machines, its
    neighbours trained in that time as well: none is lost."""
    decided_us = [entry.time_us for entry in history.of(job.number) if entry.event in _MOVED]
    for attempt in job.attempts[:-1]:
        if attempt.stop_cause in MOVES and attempt.freed_us is not None:
            place = bisect_right(decided_us, attempt.freed_us) - 1
            if place >= 0 and decided_us[place] >= max(attempt.requested_us, from_us):
                is_lost = not job.spec.is_by_machine
                yield is_lost * done.lost_us(decided_us[place], attempt.freed_us)


def _by_job(
    reported: Sequence[TimedEvent], jobs: Mapping[int, LiveJob]
) -> defaultdict[int, list[TimedEvent]]:
    found: defaultdict[int, list[TimedEvent]] = defaultdict(list)
    for at_us, event in reported:
        match event:
            case ProgressMeasured() | SpeedMeasured() | SubtasksMeasured() | SizeProposed():
                if event.job in jobs:
                    found[event.job].append((at_us, event))
    return found


def _arrivals(
    jobs: Mapping[int, LiveJob], reported: Sequence[TimedEvent]
) -> tuple[dict[int, Goal], dict[int, DataSizes]]:
    """Goals and sizes of data with which jobs arrived."""
    arrived = [event for _, event in reported if isinstance(event, Submitted) and event.job in jobs]
    goals = {event.job: event.goal for event in arrived if event.goal is not None}
    return goals, {event.job: event.data for event in arrived if event.data is not None}
