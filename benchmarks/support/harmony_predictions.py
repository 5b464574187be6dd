"""The time of a group iteration by eq. 4.1 and as measured, for groups of jobs on a testbed."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from motet.estimate.colocation.group_time import (
    SubtaskTimes,
    bound_of,
    group_iteration_s,
    job_iteration_s,
)
from support.figures import Figure
from support.host_cluster import HostMachines
from support.testbed_jobs import JobKind, Measured, Together, Usage, measured_together

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "support"))
from subtask_simulation import Step, ends_of_iterations

QUEUES = "queues, in group"
GAPS = "gaps, alone", "gaps, in group"
PREDICTIONS = (
    "eq. 4.1, alone",
    "eq. 4.1, in group",
    "one core, alone",
    "one core, in group",
    *GAPS,
    QUEUES,
)
"""From the steps of each job alone, or from those that it had in the group; for a machine with one
core, with the CPU time outside of COMP. Of the time from one mini-batch to the next: GAPS, with the
gaps of each job, too; QUEUES, by a simulation in which the jobs queue for both resources, and have
the time between their epochs."""
OF_THE_MODEL = "one core, in group"
"""What Motet predicts with on machines with one core."""
MOST_MEDIAN = 0.05
EPOCHS = 100


@dataclass(frozen=True)
class Bed:
    """Where jobs are measured: `numbers` of the hosts, `cpus` of each, for so many seconds.
    `hurry`: the context in which jobs start."""

    hosts: HostMachines
    numbers: Sequence[int]
    cpus: float
    seconds: float
    usage: Callable[[], Usage]
    hurry: Callable[[], AbstractContextManager[None]]

    def together(self, jobs: Sequence[JobKind]) -> Together:
        """Train these jobs beside each other."""
        return measured_together(
            self.hosts, jobs, self.numbers, self.seconds, self.usage, self.cpus, self.hurry
        )

    def alone(self, jobs: Sequence[JobKind]) -> list[Measured]:
        """Each job alone on these hosts."""
        found = []
        for kind in jobs:
            together = self.together([kind])
            (measured,) = together.jobs
            if measured is None:
                raise SystemExit(
                    f"{kind.name}: no whole epoch in {self.seconds:.0f} s; give more --seconds"
                )
            print(_row(kind.name, measured, together), flush=True)
            found.append(measured)
        return found


@dataclass(frozen=True)
class GroupPrediction:
    """Of one group: seconds in which the slowest job ends a mini-batch, as measured and by each of
    PREDICTIONS, and from one to the next (`period_s`); what limits the group; the fraction of the
    hosts' CPU in use."""

    group: str
    predicted_s: Mapping[str, float]
    measured_s: float
    period_s: float
    bound: str
    cpu: float

    def measured_for(self, name: str) -> float:
        """What a prediction is of."""
        return self.period_s if name in (*GAPS, QUEUES) else self.measured_s

    def error(self, name: str) -> float:
        """Of a prediction, relative to what was measured; above 0: predicted too long."""
        return self.predicted_s[name] / self.measured_for(name) - 1


def predictions(bed: Bed, jobs: Sequence[JobKind], sizes: Sequence[int]) -> list[GroupPrediction]:
    """All groups of so many of these jobs."""
    alone = bed.alone(jobs)
    found = []
    for group in (
        rows for size in sizes for rows in itertools.combinations(range(len(jobs)), size)
    ):
        name = "+".join(jobs[row].name for row in group)
        together = bed.together([jobs[row] for row in group])
        whole = [one for one in together.jobs if one is not None]
        if len(whole) < len(group):
            print(f"{name}: no whole epoch in {bed.seconds:.0f} s", flush=True)
            continue
        found.append(prediction(name, [alone[row] for row in group], whole, together.cpu))
        print(found[-1], flush=True)
        for row, one in zip(group, whole, strict=True):
            print(_row(jobs[row].name, one, together), flush=True)
    return found


def prediction(
    name: str, alone: Sequence[Measured], whole: Sequence[Measured], cpu: float
) -> GroupPrediction:
    """`alone`, `whole`: of each job of the group, alone and beside the others."""
    found: dict[str, float] = {}
    for where, measured in (("alone", alone), ("in group", whole)):
        times = [each.times for each in measured]
        found[f"eq. 4.1, {where}"] = group_iteration_s([_without_outside(each) for each in times])
        found[f"one core, {where}"] = group_iteration_s(times)
        found[f"gaps, {where}"] = max(job_iteration_s(each, times) for each in times)
    found[QUEUES] = queued_period_s(whole)
    longest_s, period_s = (
        max(getattr(each, kind) for each in whole) for kind in ("iteration_s", "period_s")
    )
    bound = bound_of([each.times for each in whole]).value
    return GroupPrediction(name, found, longest_s, period_s, bound, cpu)


def queued_period_s(jobs: Sequence[Measured]) -> float:
    """Of the slowest job, from one mini-batch to the next, while all of them train: PULL, COMP and
    PUSH of each mini-batch and PULL and COMP of the evaluation queue for the CPU and the network.
    CPU time outside of COMP is a part of COMP; between epochs a job uses neither."""
    ends = ends_of_iterations([_steps(place, job) for place, job in enumerate(jobs)], EPOCHS)
    until_us = min(of_job[-1] for of_job in ends)
    periods_s = []
    for job, of_job in zip(jobs, ends, strict=True):
        seen = [end for end in of_job if until_us // 10 <= end <= until_us]
        epoch_us = (seen[-1] - seen[0]) / (len(seen) - 1)
        periods_s.append(epoch_us / job.per_epoch / 1e6)
    return max(periods_s)


def _steps(place: int, job: Measured) -> list[Step]:
    """Of an epoch, in microseconds."""
    count, evaluation = job.per_epoch, job.evaluation
    comp_s = job.times.comp_s - evaluation.comp_s / count
    comm_s = job.times.comm_s - evaluation.comm_s / count
    longer = job.times.cpu_s / job.times.comp_s
    between_s = max(job.period_s - job.iteration_s, 0.0) * count
    batch = [("network", comm_s / 2), ("cpu", comp_s * longer), ("network", comm_s / 2)]
    end = [("network", evaluation.comm_s), ("cpu", evaluation.comp_s * longer)]
    steps = [*batch * count, *end, (f"between epochs of {place}", between_s)]
    return [(name, round(seconds * 1e6)) for name, seconds in steps if seconds > 0]


def prediction_figures(found: Sequence[GroupPrediction]) -> list[Figure]:
    """Every case, then the distribution of the errors."""
    figures = [
        Figure(
            f"{one.group}, {name}",
            f"{one.predicted_s[name]:.3f} s",
            f"{one.measured_for(name):.3f} s, cpu {one.cpu:.0%}",
            one.predicted_s[name] / one.measured_for(name),
        )
        for one in found
        for name in PREDICTIONS
    ]
    for name in PREDICTIONS:
        errors = sorted(abs(one.error(name)) for one in found)
        high = errors[min(int(0.95 * len(errors)), len(errors) - 1)]
        target = MOST_MEDIAN if name == OF_THE_MODEL else None
        figures += [
            Figure(
                f"error, {name}: median",
                f"{median(errors):.1%}",
                f"95 % {high:.1%}",
                median(errors),
                target,
                False,
            ),
            Figure(f"error, {name}: maximum", f"{errors[-1]:.1%}"),
        ]
    return figures


def _without_outside(times: SubtaskTimes) -> SubtaskTimes:
    return times._replace(outside_s=0.0)


def _row(name: str, one: Measured, together: Together) -> str:
    comp_s, comm_s, outside_s, gap_s = one.times
    return (
        f"  {name}: comp {comp_s:.3f} comm {comm_s:.3f} outside {outside_s:.3f} "
        f"gap {gap_s:.3f} s; iteration "
        f"{one.iteration_s:.3f}, period {one.period_s:.3f} s of {one.batches}; hosts: cpu "
        f"{together.cpu:.0%}, link {together.network:.0%}"
    )
