"""Job files of trainings as options of `motet train`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from motet.apps.lda import LDA
from motet.apps.mlr import MLR
from motet.datasets.builtin.toys import load_digits
from motet.domain.errors import BadInput
from motet.interfaces.training_gang.first_process import check_async, training_flags
from motet.live.jobs.job_file import job_spec
from motet.live.jobs.job_spec import TrainingSpec
from motet.runtime.core.application import Application
from small_data import corpus

JOB = {"name": "fit", "app": "mlr", "data": "digits", "workdir": "/work"}
ENVIRONMENT = {"MOTET_WORLD_SIZE": "2", "MOTET_WORKERS": "1", "MOTET_SERVERS": "1"}


@pytest.mark.parametrize("spill", [0, 0.5, 1, "auto", "model"])
def test_a_training_may_keep_input_on_disk(spill: float | str) -> None:
    spec = job_spec({**JOB, "spill": spill, "spill_dir": "/var/tmp"})
    assert isinstance(spec, TrainingSpec)
    flags = training_flags(spec, ENVIRONMENT)
    assert flags.spill is not None
    assert flags.spill == spill or float(flags.spill) == spill
    assert flags.spill_dir == Path("/var/tmp")
    assert job_spec(spec.model_dump(mode="json")) == spec


def test_columns_of_ratings_and_words_that_do_not_count_are_those_of_the_file() -> None:
    named = {"user": "Kunde, Nr.", "item": 1}
    spec = job_spec({**JOB, "app": "nmf", "columns": named, "stop_words": "der_die.txt"})
    assert isinstance(spec, TrainingSpec)
    flags = training_flags(spec, ENVIRONMENT)
    assert (flags.columns, flags.stop_words) == (named, "der_die.txt")
    assert job_spec(spec.model_dump(mode="json")) == spec
    with pytest.raises(BadInput, match=r"columns.users; did you mean user\?"):
        job_spec({**JOB, "columns": {"users": "Kunde"}})


def test_an_attempt_is_asynchronous_if_the_policy_lets_it() -> None:
    spec = job_spec({**JOB, "machines": "any", "allow_async": True, "set": {"l2": 0.1}})
    assert isinstance(spec, TrainingSpec)
    assert training_flags(spec, ENVIRONMENT).settings == ("l2=0.1",)
    chosen = {**ENVIRONMENT, "MOTET_CONSISTENCY": "async"}
    assert training_flags(spec, chosen).settings == ("l2=0.1", "consistency=async")


@pytest.mark.parametrize(
    ("app", "load", "problem"),
    [
        (MLR(), load_digits, "needs the sum over all workers; leave it out, or set solver=saga"),
        (LDA(), corpus, "lda cannot pull while it computes; leave it out"),
        (MLR(solver="saga"), load_digits, None),
    ],
)
def test_only_what_can_be_asynchronous_may_permit_it(
    app: Application, load: Callable[[], object], problem: str | None
) -> None:
    app.prepare(load(), 0)
    spec = job_spec({**JOB, "machines": "any", "allow_async": True})
    assert isinstance(spec, TrainingSpec)
    check_async(spec.model_copy(update={"allow_async": False}), app)
    if problem is None:
        check_async(spec, app)
    else:
        with pytest.raises(BadInput, match=problem):
            check_async(spec, app)


def test_without_the_keys_nothing_is_on_disk() -> None:
    spec = job_spec(JOB)
    assert isinstance(spec, TrainingSpec)
    flags = training_flags(spec, ENVIRONMENT)
    assert flags.spill is flags.spill_dir is None


def test_a_training_may_spill_to_remote_memory() -> None:
    target = "192.0.2.7:7400, [::1]:80"
    spec = job_spec({**JOB, "spill": "auto", "spill_to": target, "spill_secret": "secret"})
    assert isinstance(spec, TrainingSpec)
    flags = training_flags(spec, ENVIRONMENT)
    assert (flags.spill_to, flags.spill_secret) == (target, Path("secret"))
    assert job_spec(spec.model_dump(mode="json")) == spec
