"""Job files: defaults, and one clear error for everything else."""

from __future__ import annotations

from typing import Any

import pytest

from motet.domain.errors import BadInput
from motet.domain.reconfiguration import RoleCounts
from motet.live.jobs.job_file import job_spec
from motet.live.jobs.job_spec import CommandSpec, TrainingSpec

LEAST = {"name": "train", "run": "python train.py", "workdir": "/work"}


def test_the_least_that_a_job_needs() -> None:
    spec = job_spec(LEAST)
    assert isinstance(spec, CommandSpec)
    assert (spec.processes, spec.queue, spec.priority) == (1, "default", 0)
    assert spec.argv == ("/bin/sh", "-c", "python train.py")
    assert spec.preempt.number == 15


def test_a_list_of_words_runs_without_a_shell() -> None:
    spec = job_spec({**LEAST, "run": ["echo", "$HOME"]})
    assert isinstance(spec, CommandSpec)
    assert spec.argv == ("echo", "$HOME")


def test_a_job_survives_its_way_through_the_journal() -> None:
    spec = job_spec({**LEAST, "envs": {"A": "1"}, "preempt": {"signal": "SIGUSR1", "grace_s": 5}})
    assert job_spec(spec.model_dump(mode="json")) == spec


@pytest.mark.parametrize(
    ("written", "seconds"), [(90, 90), (0.5, 0.5), ("90", 90), ("30m", 1800), ("1.5h", 5400)]
)
def test_a_limit_has_the_forms_of_other_durations(written: Any, seconds: float) -> None:
    assert job_spec({**LEAST, "max_duration": written}).max_duration == seconds


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"max_duration": 0}, "max_duration: 0; give more than 0"),
        ({"max_duration": -5}, "max_duration: -5; give more than 0"),
        ({"max_duration": "soon"}, "max_duration: 'soon': give seconds, or a time as 90s, 30m,"),
        ({"max_duration": "0h"}, "max_duration: '0h': give seconds, or a time as 90s, 30m,"),
        ({"max_duration": True}, "max_duration: give seconds, or a time as 90s, 30m, 2h or 1d"),
        ({"max_duration": 2e9}, "max_duration: 2000000000.0; give at most"),
        (
            {"duration_s": 7200, "max_duration": "1h"},
            "duration_s is 7200, more than max_duration, 3600 s; the job would never finish",
        ),
        ({"proceses": 2}, "unknown key proceses; did you mean processes"),
        ({"num_nodes": 2}, r"unknown key num_nodes; did you mean processes\? known: "),
        (
            {"gpus": 1},
            r"unknown key gpus; did you mean processes \(each has a slot, which is a GPU where",
        ),
        ({"resources": {}}, r"unknown key resources; did you mean processes or cpus or memory\?"),
        ({"depends_on": []}, r"unknown key depends_on; did you mean after\?"),
        ({"preempt": {"grace": 2}}, "unknown key preempt.grace; did you mean grace_s"),
        ({"processes": 0}, "processes: 0; give at least 1"),
        ({"processes": "many"}, "processes: 'many'; give a whole number"),
        ({"preempt": {"signal": "SIGKILL"}}, "preempt.signal: give one of SIGHUP"),
        ({"name": "a b"}, "name: 'a b'; give letters, digits, "),
        ({"name": "../../etc"}, "name: "),
        ({"run": "  "}, "run: the command is empty"),
        ({"run": []}, "run: the command is empty"),
        ({"workdir": "here"}, "workdir: 'here'; give an absolute path"),
        ({"envs": {"A": 1}}, "envs.A: "),
        ({"run": "a\0b"}, "run: a NUL character"),
        ({"run": ["echo", "a\0b"]}, "run: a NUL character"),
        ({"run": "\ud800"}, "run: half of a surrogate pair"),
        ({"workdir": "/\0"}, "workdir: a NUL character"),
        ({"envs": {"A": "\0"}}, "envs: a NUL character"),
        ({"envs": {"A\0": ""}}, "envs: a NUL character"),
        ({"envs": {"A=B": "c"}}, "envs: the name of a variable"),
        ({"envs": {"": "c"}}, "envs: the name of a variable"),
        (
            {"a.b": 1},
            "unknown key a.b; known: after, aggregation, array, .*, matrix, max_duration,",
        ),
        ({"aray": "0-3"}, "unknown key aray; did you mean array"),
        ({"float": {}}, "unknown key float; known"),
        ({"preempt": {"str": 1}}, "unknown key preempt.str;"),
        ({"preempt": {"a.b": 1}}, "unknown key preempt.a.b;"),
        ({"x" * 1_000_000: 1}, "unknown key x{80}[.]{3};"),
        ({"envs": {"x" * 1_000_000: 1}}, "envs.x{75}[.]{3}: "),
    ],
)
def test_what_cannot_run_is_one_clear_error(values: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=rf"^job.yaml: {message}") as caught:
        job_spec({**LEAST, **values}, "job.yaml")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("key", LEAST)
def test_what_is_missing_is_named(key: str) -> None:
    values = {name: value for name, value in LEAST.items() if name != key}
    with pytest.raises(BadInput, match=f"{key} is missing"):
        job_spec(values)


TRAINING = {"name": "fit", "app": "mlr", "data": "digits", "workdir": "/work"}


def test_a_job_with_an_application_is_a_training() -> None:
    spec = job_spec({**TRAINING, "workers": 2, "set": {"l2": 0.001, "solver": "auto", "x": True}})
    assert isinstance(spec, TrainingSpec)
    assert (spec.kind, spec.workers, spec.servers, spec.processes) == ("ps", 2, 1, 3)
    assert spec.settings == ("l2=0.001", "solver=auto", "x=true")
    assert job_spec({**TRAINING, "kind": "ps", "until": "loss=0.5"}).target_loss == 0.5
    assert job_spec(spec.model_dump(mode="json")) == spec


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kind": "mpi"}, "kind: 'mpi'; one of command, ps"),
        ({"kind": ["ps"]}, "kind: .*; one of command, ps"),
        ({"data": "a\0b"}, "data: a NUL character"),
        ({"set": {"l2": "\udc80"}}, "set: half of a surrogate pair"),
        ({"run": "true"}, "unknown key run"),
        ({"wokers": 2}, "unknown key wokers; did you mean workers"),
        ({"workers": 0}, "workers: 0; give at least 1"),
        ({"set": {"l2": [1]}}, "set.l2: "),
        ({"workers": {"min": 3, "max": 2}}, "workers: max is 2, less than min, 3"),
        ({"workers": {"min": 1}}, "workers.max is missing"),
        ({"servers": {"max": 2, "mn": 1}}, "unknown key servers.mn; did you mean min"),
        ({"servers": "many"}, "servers: 'many'; give a whole number"),
        (
            {"workers": {"max": 2}, "set": {"worker_batch_size": 8}},
            "set.worker_batch_size: not with bounds",
        ),
        ({"machines": 0}, "machines: 0; give at least 1"),
        ({"machines": "many"}, "machines: 'many'; give a whole number"),
        ({"machines": "any", "servers": 2}, "machines: a worker and .*; leave out servers"),
        ({"machines": 2, "auto": True}, "machines: a worker and .*; leave out auto"),
        ({"allow_async": True}, "allow_async: of trainings that share .*; give machines: any"),
        ({"allow_async": True, "machines": 2}, "allow_async: of trainings that share machines"),
        (
            {"allow_async": True, "machines": {"min": 1, "max": 4}},
            "allow_async: of trainings that share machines; give machines: any",
        ),
        (
            {"allow_async": True, "machines": "any", "set": {"consistency": "ssp"}},
            "allow_async: the policy chooses; leave set.consistency out",
        ),
        ({"until": "loss=nan"}, "until: give loss=NUMBER"),
        ({"until": "improvement=0"}, "until: give loss=NUMBER"),
        ({"until": "better"}, "until: give loss=NUMBER, or improvement=NUMBER above 0"),
        ({"epochs": 0}, "epochs: "),
        ({"spill": 2}, "spill: give auto, model, or a number from 0 to 1"),
        ({"spill": True}, "spill: give auto, model, or a number from 0 to 1"),
        ({"spill": "much"}, "spill: give auto, model, or a number from 0 to 1"),
        ({"spill_dir": "/var/tmp"}, "spill_dir: the folder of data on disk; give spill, too"),
        ({"spill_to": "remote"}, "spill_to: where spilled data go; give spill, too"),
        ({"spill": 1, "spill_to": "host"}, "spill_to: give disk, remote, or addresses HOST:PORT"),
        ({"spill": 1, "spill_secret": "s"}, "spill_secret: of lenders of memory; give spill_to"),
        ({"seed": -1}, "seed: "),
    ],
)
def test_a_training_that_cannot_run_is_one_clear_error(
    values: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadInput, match=rf"^job.yaml: {message}") as caught:
        job_spec({**TRAINING, **values}, "job.yaml")
    assert "\n" not in str(caught.value)


def test_a_training_with_bounds_is_elastic() -> None:
    spec = job_spec({**TRAINING, "workers": {"min": 2, "max": 6}, "servers": {"max": 3}})
    assert isinstance(spec, TrainingSpec)
    assert spec.is_elastic
    assert (spec.least, spec.most) == (RoleCounts(2, 1), RoleCounts(6, 3))
    assert spec.most_within(20) == RoleCounts(6, 3)
    assert spec.most_within(5) == RoleCounts(2, 3)
    assert spec.most_within(4) == RoleCounts(2, 2)
    assert spec.most_within(3) == RoleCounts(2, 1)
    assert job_spec(spec.model_dump(mode="json")) == spec
    rigid = job_spec({**TRAINING, "workers": {"min": 2, "max": 2}})
    assert isinstance(rigid, TrainingSpec)
    assert not rigid.is_elastic


def test_a_misspelt_key_is_named_before_the_one_that_is_missing() -> None:
    values = {"name": "train", "workdir": "/work", "runn": "python train.py"}
    with pytest.raises(BadInput, match="unknown key runn; did you mean run"):
        job_spec(values)


@pytest.mark.parametrize(
    ("given", "expected"), [("4GB", 4 * 10**9), ("1.5 GiB", 3 * 2**29), (2_000_000, 2_000_000)]
)
def test_memory_is_bytes_or_a_text(given: str | int, expected: int) -> None:
    spec = job_spec({"name": "a", "run": "true", "workdir": "/", "memory": given})
    assert spec.memory == expected
    assert job_spec(spec.model_dump(mode="json")) == spec


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"memory": "4XB"}, "memory: '4XB'; give bytes, or a number with a unit such as 4GB"),
        ({"memory": "lots"}, "memory: 'lots'; give bytes, or a number with a unit such as 4GB"),
        ({"memory": "12"}, "memory: "),
        ({"memory": "1000TB"}, "memory: "),
        ({"cpus": 0}, "cpus: "),
        ({"cpus": 1.5}, "cpus: "),
    ],
)
def test_demands_without_meaning_are_refused(values: dict[str, object], problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        job_spec({"name": "a", "run": "true", "workdir": "/", **values})


def test_a_training_may_be_asynchronous_by_its_file_or_by_the_policy() -> None:
    values = {**TRAINING, "machines": "any"}
    asynchronous = job_spec({**values, "set": {"consistency": "async"}})
    assert isinstance(asynchronous, TrainingSpec)
    assert asynchronous.is_asynchronous
    allowed = job_spec({**values, "allow_async": True})
    assert isinstance(allowed, TrainingSpec)
    assert (allowed.allow_async, allowed.is_asynchronous) == (True, False)


def test_a_training_on_machines_has_a_worker_and_a_server_on_each() -> None:
    spec = job_spec({**TRAINING, "machines": 2})
    assert isinstance(spec, TrainingSpec)
    assert (spec.least, spec.most, spec.processes) == (RoleCounts(2, 2), RoleCounts(2, 2), 2)
    assert not spec.is_elastic
    some = job_spec({**TRAINING, "machines": "any"})
    assert isinstance(some, TrainingSpec)
    assert some.is_elastic
    assert (some.least, some.processes) == (RoleCounts(1, 1), 1)
    assert job_spec(some.model_dump(mode="json")) == some
