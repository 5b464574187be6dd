"""The JSON Schema of job files agrees with what the server accepts."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from motet.domain.errors import BadInput
from motet.live.jobs.array_file import array_spec, is_array
from motet.live.jobs.job_file import job_spec
from motet.live.jobs.job_schema import job_file_schema

TRAINING = {"app": "mlr", "data": "digits"}


def _is_accepted(values: dict[str, Any]) -> bool:
    completed = {"name": "job", "workdir": "/", **values}
    try:
        _ = array_spec(completed) if is_array(values) else job_spec(completed)
    except BadInput:
        return False
    return True


@pytest.fixture(scope="module")
def schema() -> Draft202012Validator:
    found = job_file_schema()
    Draft202012Validator.check_schema(found)
    return Draft202012Validator(found)


@pytest.mark.parametrize(
    "values",
    [
        {"run": "true"},
        {"run": ["python", "train.py"], "processes": 4, "after": [1, 2], "queue": "ml"},
        {"run": "true", "after": 3},
        {"run": "true", "preempt": {"signal": "SIGUSR1", "grace_s": 5}, "envs": {"A": "1"}},
        {"run": "echo {{index}}", "array": "0-9%3"},
        {"run": "true", "array": 3},
        {"run": "true", "matrix": {"n": [1, 2]}, "processes": "{{n}}", "max_parallel": 1},
        TRAINING,
        {**TRAINING, "kind": "ps", "workers": {"min": 1, "max": 3}, "auto": True, "drop": ["a", 1]},
        {**TRAINING, "machines": "any"},
        {**TRAINING, "machines": 2},
        {**TRAINING, "matrix": {"l2": [0.1, 0.2]}, "set": {"l2": "{{l2}}"}},
    ],
)
def test_what_the_server_accepts_is_valid(
    schema: Draft202012Validator, values: dict[str, Any]
) -> None:
    assert _is_accepted(values)
    assert [*schema.iter_errors(values)] == []


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"run": "true", "proceses": 2},
        {"run": "true", "processes": 0},
        {"run": "true", "workers": 2},
        {"run": "true", "retry": {"max_attempts": 0}},
        {"run": "true", "matrix": {"a-b": [1]}},
        {"run": "true", "matrix": {"a": []}},
        {"run": "true", "array": "0-9", "max_parallel": 0},
        {"app": "mlr"},
        {**TRAINING, "processes": 2},
        {**TRAINING, "kind": "gang"},
    ],
)
def test_what_the_server_refuses_is_not_valid(
    schema: Draft202012Validator, values: dict[str, Any]
) -> None:
    assert not _is_accepted(values)
    assert not schema.is_valid(values)
