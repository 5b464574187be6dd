"""The trial of a job: as small as possible, named after it, tried once."""

from __future__ import annotations

from typing import Any

import pytest

from motet.domain.errors import BadInput
from motet.live.jobs.job_file import job_spec
from motet.live.jobs.job_spec import JobSpec, TrainingSpec
from motet.live.trials.trial_spec import after_trial, needs_trial, trial_of


def spec(**values: Any) -> JobSpec:
    return job_spec({"name": "job", "workdir": "/", **values})


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"run": "true", "processes": 2}, False),
        ({"run": "true", "processes": 2, "trial": False}, False),
        ({"run": "true", "processes": 2, "trial": True}, True),
        ({"run": "true", "processes": 2, "trial": {"limit_s": 5}}, True),
        ({"run": "true", "trial": True}, False),
        ({"app": "mlr", "data": "digits", "trial": True}, False),
        ({"app": "mlr", "data": "digits", "trial": True, "workers": 2}, True),
        ({"app": "mlr", "data": "digits", "trial": True, "workers": {"max": 3}}, True),
    ],
)
def test_only_jobs_that_are_larger_than_their_trial_have_one(
    values: dict[str, Any], expected: bool
) -> None:
    assert needs_trial(spec(**values)) is expected


def test_the_trial_has_one_process_and_keeps_the_rest() -> None:
    job = spec(
        run="python train.py",
        processes=8,
        name="n" * 63,
        cpus=2,
        envs={"SEED": "7"},
        retry={"max_attempts": 5},
        duration_s=600,
        trial={"limit_s": 30},
        after=3,
    )
    expected = spec(
        run="python train.py",
        name="n" * 57 + "-trial",
        cpus=2,
        envs={"SEED": "7"},
        duration_s=30,
        after=3,
    )
    assert trial_of(job) == expected
    assert after_trial(job, 9) == job.model_copy(update={"after": (3, 9)})


def test_the_trial_of_a_training_has_a_worker_and_a_server() -> None:
    job = spec(app="mlr", data="digits", workers={"min": 2, "max": 3}, servers=2, trial=True)
    trial = trial_of(job)
    assert isinstance(trial, TrainingSpec)
    assert (trial.workers, trial.servers, trial.processes, trial.is_elastic) == (1, 1, 2, False)
    assert trial.duration_s is None


def test_odd_values_are_refused() -> None:
    for value, told in [
        ({"limit": 3}, r"unknown key trial\.limit; did you mean limit_s"),
        ({"limit_s": 0}, r"trial\.limit_s: 0; give more than 0"),
        ("soon", "trial: 'soon'; give true or false"),
    ]:
        with pytest.raises(BadInput, match=told):
            spec(run="true", trial=value)
