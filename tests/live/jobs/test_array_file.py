"""Job files with `array` or `matrix`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.errors import BadInput
from motet.live.jobs.array_file import MOST_JOBS, array_spec
from motet.live.jobs.job_spec import CommandSpec, TrainingSpec


def _spec(**values: Any) -> Any:
    return array_spec({"name": "sweep", "run": "true", "workdir": "/", **values}, "sweep.yaml")


@given(st.sets(st.integers(0, 5000), min_size=1, max_size=20), st.integers(1, 99))
def test_indices_are_those_that_were_listed(indices: set[int], limit: int) -> None:
    found = _spec(array=",".join(map(str, indices)) + f"%{limit}")
    assert [index for index, _ in found.jobs] == sorted(indices)
    assert found.most_open == limit


@given(st.integers(0, 99), st.integers(0, 99), st.integers(1, 9))
def test_a_range_has_its_last_index(first: int, more: int, step: int) -> None:
    found = _spec(array=f"{first}-{first + more}:{step}")
    assert [index for index, _ in found.jobs] == [*range(first, first + more + 1, step)]
    assert found.most_open is None


def test_a_matrix_has_all_combinations_in_the_environment_and_in_placeholders() -> None:
    found = _spec(
        matrix={"lr": [0.1, 0.01], "opt": ["sgd", "adam"]},
        max_parallel=3,
        run="train --lr {{lr}} --opt {{ opt }} --run {{index}}",
        envs={"OPT": "{{opt}}", "MOTET_MATRIX_LR": "mine"},
    )
    specs = [spec for _, spec in found.jobs]
    assert [spec.run for spec in specs] == [
        "train --lr 0.1 --opt sgd --run 0",
        "train --lr 0.1 --opt adam --run 1",
        "train --lr 0.01 --opt sgd --run 2",
        "train --lr 0.01 --opt adam --run 3",
    ]
    assert specs[3].envs == {"OPT": "adam", "MOTET_MATRIX_OPT": "adam", "MOTET_MATRIX_LR": "mine"}
    assert found.most_open == 3


def test_a_value_that_is_a_placeholder_keeps_its_type() -> None:
    values = {"name": "fit", "app": "mlr", "data": "digits", "workdir": "/"}
    matrix = {"l2": [0.1, 0.2], "workers": [1, 2], "bold": [True]}
    settings = {"l2": "{{l2}}", "bold": "{{bold}}", "text": "l2={{l2}}"}
    found = array_spec({**values, "matrix": matrix, "workers": "{{workers}}", "set": settings})
    spec = found.jobs[-1][1]
    assert isinstance(spec, TrainingSpec)
    assert (spec.workers, spec.set) == (2, {"l2": 0.2, "bold": True, "text": "l2=0.2"})


def test_other_braces_remain() -> None:
    (_, spec), *_ = _spec(array="0-1", run="docker ps --format '{{.Names}}' {{{{index}}}}").jobs
    assert isinstance(spec, CommandSpec)
    assert spec.run == "docker ps --format '{{.Names}}' {{0}}"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"array": "0-9", "matrix": {"a": [1]}}, "array, matrix: give one of them"),
        ({"max_parallel": 2}, "array, matrix: give one of them"),
        ({"array": "9-0"}, f"array: 0 jobs; 1 to {MOST_JOBS} in one array"),
        ({"array": "0-1000"}, "array: 1001 jobs; at most 1000"),
        ({"array": "0-999999999"}, "array: 1000000000 jobs; at most 1000"),
        ({"array": "0-9%0"}, "array: '0-9%0'; write 0-99, 0-99%8 .8 at a time. or 1,5,7-9"),
        ({"array": "a"}, "array: 'a'; write"),
        ({"array": "0-9%2", "max_parallel": 2}, "max_parallel: array has a limit already"),
        ({"array": "0-9", "max_parallel": True}, "max_parallel: a number of jobs, 1 or more"),
        ({"matrix": {}}, "matrix: a section with lines 'NAME: .VALUE, ....'"),
        ({"matrix": {"index": [1]}}, "matrix: 'index': a name has"),
        ({"matrix": {"a-b": [1]}}, "matrix: 'a-b': a name has"),
        ({"matrix": {"a": 1}}, "matrix.a: a list of numbers or texts"),
        ({"matrix": {"a": [[1]]}}, "matrix.a: a list of numbers or texts"),
        ({"matrix": {"a": [1] * 40, "b": [1] * 40}}, "matrix: 1600 jobs; 1 to 1000"),
        ({"matrix": {"rate": [1]}, "run": "x {{rat}}"}, "did you mean rate. known: {{index}}, "),
        ({"array": "0-1", "proceses": 1}, "unknown key proceses; did you mean processes"),
    ],
)
def test_errors_name_file_key_and_remedy(values: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=f"^sweep.yaml: .*{message}"):
        _spec(**values)
