"""Job files with `array` or `matrix`: one file, many jobs. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

from motet.domain.errors import BadInput, nearest_name
from motet.live.jobs.job_file import ARRAY_KEYS, job_spec
from motet.live.jobs.job_spec import JobSpec

MOST_JOBS = 1000
INDEX = "index"
"""The placeholder of the number of a job in its array."""
_Value: TypeAlias = bool | int | float | str

_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9})(?::([1-9][0-9]{0,8}))?)?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLACEHOLDER = re.compile(r"\{\{ *([A-Za-z_][A-Za-z0-9_]*) *\}\}")
_DEEPEST = 3
_TEXTS = ("run", "envs")
"""Keys whose values are texts, also where a placeholder is all of a value."""


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """`jobs`: indices, ascending, and specifications. `most_open`: how many of them may be
    unfinished at a time once they have started; None: all."""

    name: str
    jobs: tuple[tuple[int, JobSpec], ...]
    most_open: int | None


def is_array(values: Mapping[str, Any]) -> bool:
    """Whether a job file describes an array."""
    return any(key in values for key in ARRAY_KEYS)


def array_spec(values: Mapping[str, Any], source: str = "job") -> ArraySpec:
    """The jobs of an array. Raises BadInput that names `source`, key and remedy."""
    try:
        chosen, most_open = _chosen(values)
        common = {key: value for key, value in values.items() if key not in ARRAY_KEYS}
        filled = [(index, _filled(common, index, point)) for index, point in chosen]
    except BadInput as error:
        raise BadInput(f"{source}: {error}") from error
    jobs = tuple((index, job_spec(each, source)) for index, each in filled)
    return ArraySpec(jobs[0][1].name, jobs, most_open)


def _chosen(
    values: Mapping[str, Any],
) -> tuple[list[tuple[int, Mapping[str, _Value]]], int | None]:
    """Indices with the values of the matrix, and the limit."""
    if ("array" in values) == ("matrix" in values):
        raise BadInput("array, matrix: give one of them")
    limit = values.get("max_parallel")
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise BadInput("max_parallel: a number of jobs, 1 or more")
    if "matrix" in values:
        return [*enumerate(_points(values["matrix"]))], limit
    indices, most = _indices(str(values["array"]))
    if most is not None and limit is not None:
        raise BadInput("max_parallel: array has a limit already, after '%'")
    return [(index, {}) for index in indices], limit if most is None else most


def _indices(text: str) -> tuple[list[int], int | None]:
    """`0-9,20-40:5%3`: indices, and how many at a time."""
    ranges, has_limit, limit = text.partition("%")
    found: set[int] = set()
    for part in ranges.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None or (has_limit and not re.fullmatch("[1-9][0-9]{0,8}", limit)):
            raise BadInput(f"array: {text[:40]!r}; write 0-99, 0-99%8 (8 at a time) or 1,5,7-9")
        first, last, step = (None if each is None else int(each) for each in match.groups())
        assert first is not None
        indices = range(first, (first if last is None else last) + 1, step or 1)
        if len(indices) > MOST_JOBS:
            raise BadInput(f"array: {len(indices)} jobs; at most {MOST_JOBS} in one array")
        found |= {*indices}
    _check_count("array", len(found))
    return sorted(found), int(limit) if has_limit else None


def _points(matrix: object) -> list[dict[str, _Value]]:
    """All combinations of the values; those of the last name change fastest."""
    if not isinstance(matrix, Mapping) or not matrix:
        raise BadInput("matrix: a section with lines 'NAME: [VALUE, ...]'")
    count = 1
    for name, values in matrix.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name == INDEX:
            raise BadInput(f"matrix: {str(name)[:40]!r}: a name has letters, digits and '_'")
        if not isinstance(values, list) or not values or not all(map(_is_value, values)):
            raise BadInput(f"matrix.{name}: a list of numbers or texts")
        count *= len(values)
        _check_count("matrix", count)
    return [dict(zip(matrix, each, strict=True)) for each in product(*matrix.values())]


def _check_count(key: str, count: int) -> None:
    if not 1 <= count <= MOST_JOBS:
        raise BadInput(f"{key}: {count} jobs; 1 to {MOST_JOBS} in one array")


def _is_value(value: object) -> bool:
    return isinstance(value, bool | int | float | str)


# -- placeholders ----------------------------------------------------------------------------------


def _filled(common: Mapping[str, Any], index: int, point: Mapping[str, _Value]) -> dict[str, Any]:
    """The values of one job; the combination is in its environment, too."""
    given = {INDEX: index, **point}
    values = {
        key: _replaced(value, given, _DEEPEST, is_text=key in _TEXTS)
        for key, value in common.items()
    }
    variables = {f"MOTET_MATRIX_{name.upper()}": _text(value) for name, value in point.items()}
    envs = values.get("envs") or {}
    if variables and isinstance(envs, Mapping):
        values["envs"] = {**variables, **envs}
    return values


def _replaced(value: Any, given: Mapping[str, _Value], depth: int, *, is_text: bool) -> Any:
    """What is nested deeper than any value of a job file remains as it is, and is refused later."""
    if depth and isinstance(value, Mapping):
        return {k: _replaced(each, given, depth - 1, is_text=is_text) for k, each in value.items()}
    if depth and isinstance(value, list):
        return [_replaced(each, given, depth - 1, is_text=is_text) for each in value]
    if not isinstance(value, str):
        return value
    whole = _PLACEHOLDER.fullmatch(value)
    if whole is not None and not is_text:
        return _value_of(whole[1], given)
    return _PLACEHOLDER.sub(lambda match: _text(_value_of(match[1], given)), value)


def _value_of(name: str, given: Mapping[str, _Value]) -> _Value:
    if name not in given:
        near = nearest_name(name, given)
        hint = f"did you mean {near}? " if near else ""
        raise BadInput(f"{{{{{name}}}}}: {hint}known: {', '.join(_names(given))}")
    return given[name]


def _names(given: Mapping[str, _Value]) -> Iterator[str]:
    return (f"{{{{{name}}}}}" for name in given)


def _text(value: _Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
