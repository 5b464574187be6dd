"""The trial of a job, and the job that waits for it."""

from __future__ import annotations

from dataclasses import dataclass

from motet.live.jobs.job_sections import Retry
from motet.live.jobs.job_spec import CommandSpec, JobSpec

_SUFFIX = "-trial"
_LONGEST_NAME = 63


@dataclass(frozen=True, slots=True)
class EndTrial:
    """The trial has run as long as it should."""

    job: int


def needs_trial(spec: JobSpec) -> bool:
    """Whether the job requests a trial that would be smaller than the job itself."""
    return bool(spec.trial_s) and spec.processes > _smallest(spec).processes


def trial_of(spec: JobSpec) -> JobSpec:
    """The trial of a job: one process, or one worker and one server. It is not repeated."""
    changes = {
        "name": spec.name[: _LONGEST_NAME - len(_SUFFIX)] + _SUFFIX,
        "trial": False,
        "retry": Retry(),
        "max_duration": None,
        "duration_s": spec.duration_s and min(spec.duration_s, spec.trial_s),
    }
    return _smallest(spec).model_copy(update=changes)


def after_trial(spec: JobSpec, trial: int) -> JobSpec:
    """The job, which waits for its trial."""
    return spec.model_copy(update={"after": (*spec.after, trial)})


def is_trial_of(number: int, spec: JobSpec) -> bool:
    """Whether this job is the trial of a job that waits, not another one that it waits for."""
    return needs_trial(spec) and spec.after[-1:] == (number,)


def _smallest(spec: JobSpec) -> JobSpec:
    if isinstance(spec, CommandSpec):
        return spec.model_copy(update={"processes": 1, "min_processes": None})
    return spec.model_copy(update={"workers": 1, "servers": 1, "auto": False})
