"""Trainings that may share machines, in possible futures: how much work they have left. Pure.

How long such a training runs depends on its neighbours. A future therefore draws its work, in
iterations, and leaves the time to the simulation, with the COMP and COMM that were measured. An
epoch has as many iterations as eq. 4.1 explains for the epochs that the training has made, beside
the neighbours that it had: what the model neglects is in them. How many of its epochs a training
makes follows from how many of theirs jobs like it made. For a training that has not been measured,
COMP, COMM and the iterations of an epoch are those of a measured one, drawn in every future: of the
same application and data. Of another application only COMP and COMM are used.

Which of the waiting trainings joins which group may hang on small differences of COMP and COMM, and
the next report changes them. In every future they are as far from the measured ones as these may
be from the true ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from numpy.random import Generator

from motet.domain.events import Submitted, SubtasksMeasured
from motet.domain.units import SECOND_US, seconds
from motet.engine.measurements.subtask_rows import MeasuredSubtasks
from motet.estimate.colocation.subtask_profile import SubtaskProfile
from motet.estimate.run_times import ObservedRunTime, RunTimeForecast, RunTimePredictor
from motet.interfaces.forecasts.draws.drawn_times import DrawnTimes
from motet.interfaces.forecasts.remaining_work import groups_of, has_ended
from motet.interfaces.forecasts.sizes.done_work import DoneWork
from motet.interfaces.forecasts.sizes.held_spans import HeldSpan, held_spans
from motet.interfaces.forecasts.sizes.measured_trainings import MeasuredTrainings
from motet.interfaces.forecasts.sizes.sized_trainings import SizedTrainings, request_roles
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_spec import JobSpec, TrainingSpec
from motet.sim.workload.job_reports import WorkReport
from motet.sim.workload.measured_work import MeasuredJob, steps_per_s

MOST_MEASURED = 1000
"""Trainings whose work is known: the latest ones."""
MOST_ALIKE = 50
_LEAST_SHARE, _MOST_SHARE = 0.05, 0.95
"""Of COMP in an iteration, as long as no training was measured at all: an assumption."""
_WORK_STREAM = 2


def may_share(spec: JobSpec) -> bool:
    """Whether it is a training that may share machines with others."""
    return isinstance(spec, TrainingSpec) and spec.is_by_machine and spec.is_elastic


@dataclass(frozen=True, eq=False, slots=True)
class _Measured:
    """`per_epoch`: iterations; None: it has made no epoch. `since_report`: iterations since the
    last epoch that it told."""

    subtasks: MeasuredSubtasks
    profile: SubtaskProfile
    per_epoch: float | None
    since_report: float


class SharedTrainings:
    """What is known of them at `start_us`. `is_exact`: they make all of their epochs."""

    def __init__(
        self,
        jobs: Iterable[LiveJob],
        measured: MeasuredTrainings,
        start_us: int,
        *,
        is_exact: bool = False,
    ) -> None:
        """`jobs`: all of the cluster."""
        found = [job for job in jobs if may_share(job.spec)]
        self._is_exact = is_exact
        self._epochs = RunTimePredictor(map(_observed_epochs, found))
        self._of = _measured_trainings(found[-MOST_MEASURED:], measured.of, start_us)
        self._spread = measured.spread
        self._alike: dict[Hashable, list[int]] = defaultdict(list)
        for job in found:
            for group in _likeness(job.spec) if job.number in self._of else ():
                self._alike[group].append(job.number)

    def knows(self, job: LiveJob) -> bool:
        """Whether the work of this training is known."""
        if not may_share(job.spec) or not self._epoch_sources(job):
            return False
        return self._forecast(job) is not None

    def drawn(
        self,
        jobs: Iterable[tuple[LiveJob, int, int]],
        rows: Mapping[int, Mapping[str, int]],
        arrivals: Mapping[int, Submitted],
        times: DrawnTimes,
    ) -> SizedTrainings | None:
        """All of these in a future; None: there are none. `jobs`: with the rest of their run times,
        which counts where their work is not known, and the time until their limits. `rows`: their
        columns, `arrivals`: of those that arrive, by number."""
        found = {
            job.number: self._training(job, rows[job.number], times, rest_us, most_us)
            for job, rest_us, most_us in jobs
            if may_share(job.spec)
        }
        if not found:
            return None
        new = [event for number, event in arrivals.items() if number in found]
        return SizedTrainings(
            {number: training for number, (training, _) in found.items()},
            {number: reports for number, (_, reports) in found.items()},
            {event.job: event.goal for event in new if event.goal is not None},
            {event.job: event.data for event in new if event.data is not None},
            frozenset(),
            frozenset(),
            0,  # Moves take their time as starts do.
        )

    def _training(
        self,
        job: LiveJob,
        row: Mapping[str, int],
        times: DrawnTimes,
        rest_us: int,
        most_us: int,
    ) -> tuple[MeasuredJob, list[WorkReport]]:
        """And what it will report."""
        generator, own = times.generator(job.number, _WORK_STREAM), self._of.get(job.number)
        like = own or self._like(job, generator)
        profile = like.profile if like is not None else _assumed(generator)
        profile = profile.scaled(*generator.lognormal(0.0, self._spread, 2))
        roles = request_roles(row)
        speed = steps_per_s(profile, roles["workers"], roles["servers"])
        per_epoch = self._per_epoch(job, like, generator)
        steps = self._steps(job, per_epoch, times, generator)
        if steps is None:
            steps = seconds(rest_us) * speed
        elif own is not None:
            start_us = times.rest_of_start_us(job, generator.random())
            steps += seconds(start_us) * speed - own.since_report
        steps = max(round(min(steps, seconds(most_us) * speed)), 1)
        training = MeasuredJob(steps, roles, profile)
        if own is not None:
            return training, []
        first = min(max(round(per_epoch or 1), 1), steps)
        return training, [(first, each) for each in _reported(job.number, profile, like)]

    def _steps(
        self, job: LiveJob, per_epoch: float | None, times: DrawnTimes, generator: Generator
    ) -> float | None:
        """Iterations since the last epoch that it told; None: unknown."""
        forecast, share = self._forecast(job), generator.random()
        if per_epoch is None or forecast is None:
            return None
        epochs = times.drawn_us(forecast, share) / SECOND_US
        if (planned := _planned(job)) is not None:
            epochs = planned if self._is_exact else min(epochs, planned)
        return max(epochs - _made(job), 0.0) * per_epoch

    def _per_epoch(
        self, job: LiveJob, like: _Measured | None, generator: Generator
    ) -> float | None:
        """Of `like`, if its epochs have as many iterations."""
        sources = self._epoch_sources(job)
        if like is not None and like in sources:
            return like.per_epoch
        return sources[int(generator.integers(len(sources)))].per_epoch if sources else None

    def _epoch_sources(self, job: LiveJob) -> Sequence[_Measured]:
        """Trainings that tell how many iterations an epoch of this one has."""
        own = self._of.get(job.number)
        if own is not None and own.per_epoch is not None:
            return [own]
        for group in _likeness(job.spec)[:_WITH_SAME_WORK]:
            numbers = self._alike.get(group, [])[-MOST_ALIKE:]
            if found := [it for it in map(self._of.__getitem__, numbers) if it.per_epoch]:
                return found
        return []

    def _like(self, job: LiveJob, generator: Generator) -> _Measured | None:
        for group in _likeness(job.spec):
            if numbers := self._alike.get(group, [])[-MOST_ALIKE:]:
                return self._of[numbers[int(generator.integers(len(numbers)))]]
        return None

    def _forecast(self, job: LiveJob) -> RunTimeForecast | None:
        """Of the epochs that it makes."""
        return self._epochs.forecast(groups_of(job), _made(job), _planned(job))


_WITH_SAME_WORK = 2


def _likeness(spec: JobSpec) -> tuple[Hashable, ...]:
    """Trainings like this one, the most similar ones first: those of _WITH_SAME_WORK, then others
    with about the same COMP and COMM."""
    assert isinstance(spec, TrainingSpec)
    program = (spec.app, spec.data)
    return (("name", spec.name, *program), ("program", *program), ("app", spec.app), ())


def _planned(job: LiveJob) -> float | None:
    epochs = job.spec.epochs if isinstance(job.spec, TrainingSpec) else None
    return None if epochs is None else float(epochs)


def _made(job: LiveJob) -> float:
    return 0.0 if job.progress is None else job.progress.steps_done


def _observed_epochs(job: LiveJob) -> ObservedRunTime:
    is_known = has_ended(job) and not job.has_timed_out
    return ObservedRunTime(groups_of(job), _made(job), is_known, _planned(job))


def _measured_trainings(
    jobs: Sequence[LiveJob], measured: Mapping[int, MeasuredSubtasks], start_us: int
) -> dict[int, _Measured]:
    """By number."""
    spans = held_spans(map(_while_running, jobs), 0, start_us, 0)
    speeds = {
        job.number: profile
        for job in jobs
        if (known := measured.get(job.number)) and (profile := known.profile) is not None
    }
    found = {}
    for job in jobs:
        if job.number in speeds:
            done = DoneWork(job.number, spans.get(job.number, list[HeldSpan]()), speeds)
            told_us = max((it.reported_us for it in job.attempts if it.reported_us), default=0)
            told = done.until(told_us)
            per_epoch = told / _made(job) if told and _made(job) else None
            profile, subtasks = speeds[job.number], measured[job.number]
            found[job.number] = _Measured(subtasks, profile, per_epoch, done.whole - told)
    return found


def _while_running(job: LiveJob) -> LiveJob:
    """The same, as if its attempts had begun when their processes ran."""
    attempts = [
        replace(each, requested_us=each.running_us)
        for each in job.attempts
        if each.running_us is not None
    ]
    return replace(job, attempts=attempts)


def _assumed(generator: Generator) -> SubtaskProfile:
    """Of an iteration of a second on one machine."""
    share = float(generator.uniform(_LEAST_SHARE, _MOST_SHARE))
    return SubtaskProfile.of(1, share, 1 - share)


def _reported(
    job: int, profile: SubtaskProfile, like: _Measured | None
) -> Iterable[SubtasksMeasured]:
    """What the training will have measured: all that is known of one like it."""
    memory = {} if like is None else like.subtasks.memory
    for count in profile.counts:
        most, least = memory.get(count.machines, (None, None))
        times = count.comp_s, count.comm_s, None
        yield SubtasksMeasured(job, count.machines, *times, most, least, count.outside_s or None)
