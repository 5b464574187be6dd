"""How fast a training was at its sizes, from what it reported. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from motet.domain.events import SizeProposed, SpeedMeasured, SubtasksMeasured
from motet.domain.units import SECOND_US
from motet.engine.reduce import measured_times
from motet.estimate.colocation.subtask_profile import SubtaskProfile
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_spec import TrainingSpec
from motet.sim.workload.interventions import TimedEvent
from motet.sim.workload.measured_work import KnownSpeeds
from motet.sim.workload.size_speeds import Size, SizeSpeeds

_FULL = float(SECOND_US)
"""Steps per second at the least size: a step is what takes a microsecond there."""


def known_speeds(job: LiveJob, reported: Sequence[TimedEvent]) -> KnownSpeeds:
    """The profile of a training on machines, where it has reported one; else its speeds by size.
    Where a policy may choose, the profile is that without overlap: an attempt may be of either.

    A size that it proposed and never had is as fast as the training itself predicted. A training
    that has reported no speed is equally fast at every size.
    """
    if job.spec.is_by_machine and (profile := _profile(reported)) is not None:
        may_change = isinstance(job.spec, TrainingSpec) and job.spec.allow_async
        return replace(profile, overlaps=False) if may_change else profile
    measured: defaultdict[Size, list[float]] = defaultdict(list)
    predicted: dict[Size, float] = {}
    for at_us, event in reported:
        if isinstance(event, SpeedMeasured) and event.steps_per_s > 0:
            measured[event.workers, event.servers].append(event.steps_per_s)
        elif isinstance(event, SizeProposed) and event.gain < 1:
            size = _size_at(job, at_us)
            if size in measured:
                speed = median(measured[size]) / (1 - event.gain)
                predicted[event.workers, event.servers] = speed
    known = predicted | {size: median(speeds) for size, speeds in measured.items()}
    if not known:
        return SizeSpeeds(dict.fromkeys(_sizes(job), _FULL))
    least = known[min(known, key=lambda size: (sum(size), size))]
    steps_per_s = {size: speed / least * _FULL for size, speed in known.items()}
    return SizeSpeeds(steps_per_s, frozenset(measured))


def _profile(reported: Sequence[TimedEvent]) -> SubtaskProfile | None:
    found: SubtaskProfile | None = None
    for _, event in reported:
        if isinstance(event, SubtasksMeasured):
            found = SubtaskProfile.after(found, event.machines, measured_times(event))
    return found


def _size_at(job: LiveJob, at_us: int) -> Size:
    """Workers and servers of the attempt that ran then; of none: no size."""
    for attempt in reversed(job.attempts):
        if attempt.requested_us <= at_us:
            return attempt.workers, attempt.servers
    return 0, 0


def _sizes(job: LiveJob) -> list[Size]:
    """Those that it had, and the least."""
    assert isinstance(job.spec, TrainingSpec)
    least = job.spec.least.workers, 0 if job.spec.is_by_machine else job.spec.least.servers
    return [least, *((attempt.workers, attempt.servers) for attempt in job.attempts)]
