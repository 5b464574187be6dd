"""Where the time of a schedule of jobs goes, and what the model gives for the very same stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

from motet.estimate.colocation.group_time import SubtaskTimes, job_iteration_s
from support.schedule_stays import StayTimes


@dataclass(frozen=True)
class Ledger:
    """Seconds of a job from the beginning of the schedule to its end, means over jobs; together
    they are the mean JCT.

    `waiting`: without machines; `starting`: until executors have their data; `tokens`: subtasks
    waited for those of other jobs; `barrier`: for the job's own slower workers and its servers;
    `data`: COMP waited for input on disk; `rest`: of mini-batches and evaluations, what none of
    these is: messages, and the slowest worker beyond the mean; `between`: from the end of an epoch
    to the beginning of the next one, the controller's; `stopping`: from the last epoch of a stay to
    its end, an epoch that was cut short included.
    """

    waiting: float
    starting: float
    computing: float
    communicating: float
    tokens: float
    barrier: float
    data: float
    rest: float
    between: float
    stopping: float

    @property
    def jct_s(self) -> float:
        """The mean."""
        return sum(getattr(self, each.name) for each in fields(self))


def ledger(stays: Sequence[StayTimes]) -> Ledger:
    """Of all jobs of a schedule."""
    jobs = {stay.job for stay in stays}
    ends_s = sum(max(stay.ended_s for stay in stays if stay.job == job) for job in jobs)
    epochs = [epoch for stay in stays for epoch in stay.epochs]
    starting = sum((stay.trains_s or stay.ended_s) - stay.began_s for stay in stays)
    trained = [(stay, *_training(stay)) for stay in stays if stay.trains_s is not None]
    cycle = sum(each.cycle_s for each in epochs)
    parts = [
        sum(getattr(each, name) for each in epochs)
        for name in ("comp_s", "comm_s", "gate_s", "barrier_s", "load_s")
    ]
    sums = Ledger(
        ends_s - sum(stay.ended_s - stay.began_s for stay in stays),
        starting,
        *parts,
        cycle - sum(parts),
        sum(end_s - begin_s for _, begin_s, end_s in trained) - cycle,
        sum(stay.ended_s - end_s for stay, _, end_s in trained),
    )
    return Ledger(*(getattr(sums, each.name) / len(jobs) for each in fields(sums)))


Steps = Mapping[tuple[int, int], SubtaskTimes]
"""Of a job on so many machines."""


def training_s(stays: Sequence[StayTimes], steps: Steps) -> tuple[float, float]:
    """How long the mini-batches of all stays took, from the start of each stay's training to its
    last epoch, and how long they take by the model beside the same jobs: sums over stays.

    A job counts in the group of its machines while it trains.
    """
    measured = modelled = 0.0
    spans = {id(stay): _training(stay) for stay in stays if stay.epochs}
    for stay in stays:
        if not stay.epochs or stay.trains_s is None:
            continue
        begin_s, end_s = spans[id(stay)]
        beside = [
            (other.job, *spans[id(other)])
            for other in stays
            if id(other) in spans and other.place == stay.place
        ]
        changes = {edge for _, *edges in beside for edge in edges if begin_s < edge < end_s}
        batches = 0.0
        for low_s, high_s in pairwise(sorted({begin_s, end_s, *changes})):
            group = [job for job, from_s, to_s in beside if from_s <= low_s and high_s <= to_s]
            machines = len(stay.place)
            times = [steps[job, machines] for job in group]
            batches += (high_s - low_s) / job_iteration_s(steps[stay.job, machines], times)
        measured += end_s - begin_s
        modelled += (end_s - begin_s) * sum(each.batches for each in stay.epochs) / batches
    return measured, modelled


def steps_in(stays: Sequence[StayTimes], cpus: float) -> dict[tuple[int, int], SubtaskTimes]:
    """As measured in these stays, the mean over all stays of a job on as many machines; `cpus`: of
    a host."""
    found: dict[tuple[int, int], list[StayTimes]] = {}
    for stay in stays:
        if stay.epochs:
            found.setdefault((stay.job, len(stay.place)), []).append(stay)
    return {key: _steps_of(on_as_many, cpus) for key, on_as_many in found.items()}


def _steps_of(stays: Sequence[StayTimes], cpus: float) -> SubtaskTimes:
    epochs = [epoch for stay in stays for epoch in stay.epochs]
    batches = sum(each.batches for each in epochs)
    comp_s, comm_s, gate_s, cpu_s = (
        sum(getattr(each, name) for each in epochs) / batches
        for name in ("comp_s", "comm_s", "gate_s", "cpu_s")
    )
    period_s = sum(end_s - begin_s for begin_s, end_s in map(_training, stays)) / batches
    return SubtaskTimes(
        comp_s,
        comm_s,
        max(cpu_s / cpus - comp_s, 0.0),
        max(period_s - comp_s - comm_s - gate_s, 0.0),
    )


def _training(stay: StayTimes) -> tuple[float, float]:
    """When it began, and when its last epoch ended."""
    assert stay.trains_s is not None
    return stay.trains_s, stay.epochs[-1].at_s if stay.epochs else stay.trains_s
