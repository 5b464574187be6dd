"""Requests with a key that an earlier one had: repetitions, or mistakes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from motet.domain.errors import BadInput
from motet.live.jobs.array_file import ArraySpec
from motet.live.jobs.job_spec import JobSpec
from motet.live.master.state import LiveState
from motet.live.trials.trial_spec import after_trial, needs_trial

_Numbered: TypeAlias = tuple[int, JobSpec]


class KeyReused(BadInput):
    """A key belongs to a request with another job."""


def check_repeated(state: LiveState, key: str, known: int, spec: JobSpec | ArraySpec) -> None:
    """Raises KeyReused unless the job or array `known` was submitted with this specification."""
    found = state.arrays.get(known)
    if found is None:
        what = "job"
        is_same = _are_same([(0, state.jobs[known].accepted)], spec, known - 1)
    else:
        what, jobs = "array", [(job.index, job.accepted) for job in found.jobs]
        limit = spec.most_open if isinstance(spec, ArraySpec) else None
        is_same = limit == found.most_open and _are_same(jobs, spec, known - 1)
    if isinstance(spec, ArraySpec) is (found is None) or not is_same:
        raise KeyReused(
            f"the key {key[:40]!r} belongs to {what} {known}, which was submitted with another "
            "specification; give another key for another job"
        )


def _are_same(accepted: Sequence[_Numbered], spec: JobSpec | ArraySpec, trial: int) -> bool:
    """`trial`: the id of their trial, if they have one."""
    given: list[_Numbered] = [*spec.jobs] if isinstance(spec, ArraySpec) else [(0, spec)]
    if given and needs_trial(given[0][1]):
        given = [(index, after_trial(each, trial)) for index, each in given]
    return given == [*accepted]
